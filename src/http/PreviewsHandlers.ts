import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../schemas/Access.ts"
import { Api } from "../../schemas/Api.ts"
import { Previews } from "../preview/Previews.ts"

export const PreviewsHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "previews",
    Effect.fnUntraced(function* (handlers) {
      const previews = yield* Previews
      return handlers
        .handle(
          "createPreview",
          ({ params, payload }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              Effect.map(previews.create(accountId, params.id, { requestId, port: payload.port }), (preview) => ({
                preview
              }))
            ),
          { uninterruptible: true }
        )
        .handle(
          "closePreview",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              previews.close(accountId, params.id, params.previewId, { requestId })
            ),
          { uninterruptible: true }
        )
    })
  )
}
