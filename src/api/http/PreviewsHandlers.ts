import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { PreviewList } from "../../../schemas/Preview.ts"
import { Previews } from "../../access/preview/Previews.ts"
import { jsonAnswer } from "./JsonAnswer.ts"

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
              Effect.map(previews.create(accountId, params.id, { requestId, ...payload }), (preview) => ({
                preview
              }))
            ),
          { uninterruptible: true }
        )
        .handle("lookUpPreview", ({ params, payload }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(previews.lookUp(accountId, params.id, payload.port), (preview) => ({ preview }))
          )
        )
        .handle("listPreviews", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(previews.list(accountId, params.id), (found) => jsonAnswer<PreviewList>({ previews: found }))
          )
        )
        .handle(
          "closePreviews",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              previews.closeAll(accountId, params.id, { requestId })
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
