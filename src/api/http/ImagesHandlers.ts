import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Images } from "../../image/Images.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { leanGroup } from "./LeanContext.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

export const ImagesHandlers = {
  layer: leanGroup(
    Api,
    "images",
    Effect.fnUntraced(function* (handlers) {
      const images = yield* Images
      return handlers
        .handle(
          "pullImage",
          Effect.fnUntraced(function* ({ headers, payload, request }) {
            const { accountId, requestId } = yield* Caller
            const image = yield* images.pull({
              accountId,
              requestId,
              idempotencyKey: headers["idempotency-key"] ?? null,
              fingerprint: yield* fingerprintOf(request),
              request: payload
            })
            noteTarget(request, image.id)
            return { image }
          }),
          { uninterruptible: true }
        )
        .handle("listImages", ({ query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            images.list(accountId, {
              name: query.name ?? null,
              status: query.status ?? null,
              limit: query.limit,
              cursor: query.cursor ?? null
            })
          )
        )
        .handle("getImage", ({ params }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            Effect.map(images.get(accountId, params.id), (image) => ({ image }))
          )
        )
        .handle(
          "deleteImage",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) => images.remove(accountId, params.id, { requestId })),
          { uninterruptible: true }
        )
        .handle("listImageTransitions", ({ params, query }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            images.transitions(accountId, params.id, { limit: query.limit, cursor: query.cursor ?? null })
          )
        )
    })
  )
}
