import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../schemas/Api.ts"
import type { InvalidRequest } from "../../../schemas/Errors.ts"
import { type FileList, type FileStatResponse, tarMediaType, type UnpackedArchive } from "../../../schemas/Files.ts"
import { Files } from "../../files/Files.ts"
import type { FileUpload } from "../../runtime/Guest.ts"
import { acceptsGzip } from "./acceptsGzip.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { fileAddress } from "./fileAddress.ts"
import { jsonAnswer } from "./JsonAnswer.ts"
import { longUpload } from "./LongUpload.ts"

/** The body as a stream; the guest counts its bytes. A truncated body fails, so that nothing is written. */
const contentOf = (request: HttpServerRequest.HttpServerRequest): FileUpload<InvalidRequest> => ({
  bytes: request.source as IncomingMessage,
  broken: () => invalidRequest([{ path: [], message: "The body ended too early" }])
})

export const FilesHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "files",
    Effect.fnUntraced(function* (handlers) {
      const files = yield* Files
      return handlers
        .handle("statFile", (asked) =>
          Effect.map(Effect.flatMap(fileAddress(asked), files.stat), (stat) => jsonAnswer<FileStatResponse>(stat))
        )
        .handle(
          "readFile",
          Effect.fnUntraced(function* (asked) {
            const { offset, maxBytes, cursor } = asked.query
            const at = yield* fileAddress(asked)
            const range = yield* files.read(at, { offset: offset ?? null, maxBytes, cursor: cursor ?? null })
            return HttpServerResponse.raw(range.body, {
              contentType: "application/octet-stream",
              contentLength: range.nextOffset - range.offset,
              headers: {
                "accept-ranges": "bytes",
                "x-service-offset": String(range.offset),
                "x-service-next-offset": String(range.nextOffset),
                "x-service-file-size": String(range.sizeBytes),
                "x-service-eof": String(range.eof),
                "x-service-next-cursor": range.nextCursor
              }
            })
          })
        )
        .handleRaw("writeFile", (asked) =>
          Effect.flatMap(fileAddress(asked), (at) => files.write(at, contentOf(asked.request)))
        )
        .handle("editFile", (asked) => Effect.flatMap(fileAddress(asked), (at) => files.edit(at, asked.payload)))
        .handle("listFiles", (asked) =>
          Effect.flatMap(fileAddress(asked), (at) =>
            Effect.map(files.list(at, { pageSize: asked.query.pageSize, cursor: asked.query.cursor ?? null }), (page) =>
              jsonAnswer<FileList>(page)
            )
          )
        )
        .handle(
          "createDirectory",
          (asked) => Effect.flatMap(fileAddress(asked), (at) => files.createDirectory(at, asked.payload)),
          { uninterruptible: true }
        )
        .handle("renameFile", (asked) => Effect.flatMap(fileAddress(asked), (at) => files.rename(at, asked.payload)), {
          uninterruptible: true
        })
        .handle(
          "removeFile",
          (asked) => Effect.flatMap(fileAddress(asked), (at) => files.remove(at, { recursive: asked.query.recursive })),
          { uninterruptible: true }
        )
        .handleRaw("uploadArchive", (asked) =>
          Effect.gen(function* () {
            const at = yield* fileAddress(asked)
            yield* longUpload(asked.request.source as IncomingMessage)
            const encoding = asked.headers["content-encoding"]?.toLowerCase() ?? "identity"
            const unpacked = yield* files.unpack(
              at,
              contentOf(asked.request),
              encoding === "identity" ? "identity" : "gzip"
            )
            return jsonAnswer<UnpackedArchive>(unpacked)
          }).pipe(Effect.scoped)
        )
        .handle(
          "downloadArchive",
          Effect.fnUntraced(function* (asked) {
            const at = yield* fileAddress(asked)
            const encoding = acceptsGzip(asked.request.headers["accept-encoding"]) ? "gzip" : "identity"
            const archive = yield* files.pack(at, encoding)
            return HttpServerResponse.raw(archive, {
              contentType: tarMediaType,
              headers: { vary: "accept-encoding", ...(encoding === "gzip" ? { "content-encoding": encoding } : {}) }
            })
          })
        )
    })
  )
}
