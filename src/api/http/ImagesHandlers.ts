import type { IncomingMessage } from "node:http"
import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { ServiceUnavailable } from "../../../schemas/Errors.ts"
import { BuildArgs } from "../../../schemas/ImageBuild.ts"
import type { ImageResponse } from "../../../schemas/ImageRecord.ts"
import { Images } from "../../image/Images.ts"
import { Operations } from "../../operation/Operations.ts"
import type { OutputRange } from "../../operation/operationOutput.ts"
import { noteTarget } from "./AuditedRequest.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { leanGroup } from "./LeanContext.ts"
import { longUpload } from "./LongUpload.ts"
import { OpenStreams } from "./OpenStreams.ts"
import { outputAnswer, outputOffsets } from "./outputAnswer.ts"
import { outputRangeAnswer } from "./outputRangeAnswer.ts"
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

/** Before the build has begun, and of one that never did. */
const nothingYet = ({ stream, offset }: Pick<OutputRange, "stream" | "offset">, isOver: boolean): OutputRange => ({
  ...{ stream, offset, nextOffset: offset },
  ...{ bytes: new Uint8Array(0), truncated: false, eof: isOver }
})

const notBegun = new ServiceUnavailable({
  message: "The build has not begun, or never did. Look at the image, or ask again."
})

const isBuildArgs = Schema.is(BuildArgs)

interface BuildCall {
  readonly query: {
    readonly name?: string | undefined
    readonly dockerfile?: string | undefined
    readonly target?: string | undefined
    readonly buildArg?: ReadonlyArray<string> | undefined
    readonly workspaceId?: string | undefined
  }
  readonly headers: {
    readonly "idempotency-key"?: string | undefined
    readonly "content-encoding"?: string | undefined
  }
  readonly request: HttpServerRequest.HttpServerRequest
}

/** By name; the last one of a name counts, as in a command line. */
const argsOf = (given: ReadonlyArray<string>) => {
  const args = Object.fromEntries(
    given.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)])
  )
  return isBuildArgs(args)
    ? Effect.succeed(args)
    : Effect.fail(invalidRequest([{ path: ["buildArg"], message: "Too many, or too long together." }]))
}

const built = (images: Images["Service"]) => (call: BuildCall) =>
  Effect.gen(function* () {
    const { query, headers, request } = call
    const { accountId, requestId } = yield* Caller
    const args = yield* argsOf(query.buildArg ?? [])
    const body = request.source as IncomingMessage
    yield* longUpload(body)
    const image = yield* images.build({
      ...{ accountId, requestId, body, args },
      idempotencyKey: headers["idempotency-key"] ?? null,
      encoding: (headers["content-encoding"] ?? "identity").toLowerCase() === "identity" ? "identity" : "gzip",
      name: query.name ?? null,
      dockerfile: query.dockerfile ?? "Dockerfile",
      target: query.target ?? null,
      workspaceId: query.workspaceId ?? null
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
      const operations = yield* Operations
      const streams = yield* OpenStreams
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
        .handleRaw("buildImage", built(images))
        .handle(
          "readBuildOutput",
          Effect.fnUntraced(function* ({ params, query }) {
            const { accountId } = yield* Caller
            const { sandboxId, operationId, isOver } = yield* images.buildOf(accountId, params.id, { waits: false })
            return outputRangeAnswer(
              operationId === null
                ? nothingYet(query, isOver)
                : yield* operations.output(accountId, sandboxId, operationId, query)
            )
          })
        )
        .handle(
          "streamBuildOutput",
          Effect.fnUntraced(function* ({ params, query, headers }) {
            const caller = yield* Caller
            const { sandboxId, operationId } = yield* images.buildOf(caller.accountId, params.id, { waits: true })
            if (operationId === null) return yield* notBegun
            const from = outputOffsets(query, headers)
            const reading = yield* operations.follow(caller.accountId, sandboxId, operationId, from)
            return yield* outputAnswer(streams, caller, reading)
          }, Effect.uninterruptible)
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
