import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import type { ImageResponse } from "../../../schemas/ImageRecord.ts"
import { Images } from "../../image/Images.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { longUpload } from "./LongUpload.ts"
import { fingerprintOf } from "./RequestFingerprint.ts"

interface UploadCall {
  readonly query: { readonly name?: string | undefined }
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  readonly request: HttpServerRequest.HttpServerRequest
}

const uploaded = (images: Images["Service"]) => (call: UploadCall) =>
  Effect.gen(function* () {
    const { query, headers, request } = call
    const { accountId, requestId } = yield* Caller
    const body = request.source as IncomingMessage
    yield* longUpload(body)
    const image = yield* images.upload({
      ...{ accountId, requestId, body },
      idempotencyKey: headers["idempotency-key"] ?? null,
      name: query.name ?? null
    })
    noteTarget(request, image.id)
    return jsonAnswer<ImageResponse>({ image }, 202)
  }).pipe(Effect.scoped)

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
        .handleRaw("uploadImage", uploaded(images))
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
