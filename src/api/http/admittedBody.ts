/** Checks the media type and size of a request's body by its endpoint, before anything is decoded. */
import type { IncomingMessage } from "node:http"
import { Context, Effect } from "effect"
import { Headers, type HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { OptionalBody } from "../../../schemas/Access.ts"
import { type ContractError, UnsupportedMediaType } from "../../../schemas/Errors.ts"
import { tarMediaType } from "../../../schemas/Files.ts"
import { imageArchiveMediaType } from "../../../schemas/ImageUpload.ts"
import { fileContentMaxBytes } from "../../../schemas/Limits.ts"
import { snapshotMediaType } from "../../../schemas/SnapshotFile.ts"
import { isMediaType, readJsonText, refuseLength } from "./JsonBody.ts"

const json = "application/json"

/**
 * The request with its body already read. The media type was checked with it, and an absent body has none, regardless of the header.
 * The decoder would check the header again by its own rules, and respond without the Error body.
 */
const withText = (request: HttpServerRequest.HttpServerRequest, text: string): HttpServerRequest.HttpServerRequest =>
  Object.create(request, {
    text: { value: Effect.succeed(text) },
    ...(request.headers["content-type"] === json
      ? {}
      : { headers: { value: Headers.set(request.headers, "content-type", json) } })
  })

type BodyKind = "none" | "json" | "optional-json" | "octet-stream" | "tar" | "snapshot" | "image"

export const bodyKindOf = (endpoint: HttpApiEndpoint.Top): BodyKind => {
  if (endpoint.method === "GET" || endpoint.payload.size === 0) return "none"
  if (endpoint.payload.has("application/octet-stream")) return "octet-stream"
  if (endpoint.payload.has(snapshotMediaType)) return "snapshot"
  if (endpoint.payload.has(imageArchiveMediaType)) return "image"
  if (endpoint.payload.has(tarMediaType)) return "tar"
  return Context.get(endpoint.annotations, OptionalBody) ? "optional-json" : "json"
}

const notTar = new UnsupportedMediaType({
  message: `Send the archive as ${tarMediaType}, as it is or with Content-Encoding: gzip.`,
  details: { expected: tarMediaType }
})

/** Checks media type and size, and reads JSON. The reader counts octet streams; only the volume limits archives, and the importer checks snapshots, the host images. */
export const admitBody = (
  request: HttpServerRequest.HttpServerRequest,
  kind: BodyKind
): Effect.Effect<HttpServerRequest.HttpServerRequest, ContractError> => {
  if (kind === "none") return Effect.succeed(request)
  const source = request.source as IncomingMessage
  if (kind === "tar") {
    return isMediaType(source, tarMediaType, ["gzip", "x-gzip"]) ? Effect.succeed(request) : Effect.fail(notTar)
  }
  if (kind === "snapshot") {
    return isMediaType(source, snapshotMediaType)
      ? Effect.succeed(request)
      : Effect.fail(new UnsupportedMediaType({ details: { expected: snapshotMediaType } }))
  }
  if (kind === "image") {
    return [imageArchiveMediaType, tarMediaType].some((type) => isMediaType(source, type))
      ? Effect.succeed(request)
      : Effect.fail(new UnsupportedMediaType({ details: { expected: imageArchiveMediaType } }))
  }
  if (kind === "octet-stream") {
    if (!isMediaType(source, "application/octet-stream")) {
      return Effect.fail(new UnsupportedMediaType({ details: { expected: "application/octet-stream" } }))
    }
    const refused = refuseLength(source, fileContentMaxBytes)
    return refused === null ? Effect.succeed(request) : Effect.fail(refused)
  }
  return Effect.map(readJsonText(source, kind === "optional-json"), (text) => withText(request, text))
}
