import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../schemas/Access.ts"
import { Api } from "../../schemas/Api.ts"
import { InvalidPath, type InvalidRequest } from "../../schemas/Errors.ts"
import type { FileList, FileStatResponse } from "../../schemas/Files.ts"
import { type FileAddress, Files } from "../files/Files.ts"
import type { FileUpload } from "../runtime/Guest.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { jsonAnswer } from "./JsonAnswer.ts"

interface FileRequest {
  readonly params: { readonly id: string }
  readonly query: { readonly path: string }
  readonly request: HttpServerRequest.HttpServerRequest
}

/** The query's decoder leaves what is no percent-encoded UTF-8 as it stands: such a path would silently mean another file. */
const isEncoded = (url: string): boolean => {
  try {
    decodeURIComponent(url.slice(url.indexOf("?") + 1))
    return true
  } catch {
    return false
  }
}

const addressOf = ({ params, query, request }: FileRequest): Effect.Effect<FileAddress, InvalidPath, Caller> =>
  Effect.flatMap(Caller, ({ accountId, exhaustedAt }) =>
    isEncoded(request.url)
      ? Effect.succeed({ accountId, exhaustedAt, sandboxId: params.id, path: query.path })
      : Effect.fail(
          new InvalidPath({
            message: "The query is not percent-encoded UTF-8. A name's other bytes are U+10FE00 + byte."
          })
        )
  )

/** The body as it comes in; the guest counts it. One that breaks off fails, so that nothing is written. */
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
          Effect.map(Effect.flatMap(addressOf(asked), files.stat), (stat) => jsonAnswer<FileStatResponse>(stat))
        )
        .handle(
          "readFile",
          Effect.fnUntraced(function* (asked) {
            const { offset, maxBytes, cursor } = asked.query
            const at = yield* addressOf(asked)
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
          Effect.flatMap(addressOf(asked), (at) => files.write(at, contentOf(asked.request)))
        )
        .handle("editFile", (asked) => Effect.flatMap(addressOf(asked), (at) => files.edit(at, asked.payload)))
        .handle("listFiles", (asked) =>
          Effect.flatMap(addressOf(asked), (at) =>
            Effect.map(files.list(at, { pageSize: asked.query.pageSize, cursor: asked.query.cursor ?? null }), (page) =>
              jsonAnswer<FileList>(page)
            )
          )
        )
        .handle(
          "createDirectory",
          (asked) => Effect.flatMap(addressOf(asked), (at) => files.createDirectory(at, asked.payload)),
          { uninterruptible: true }
        )
        .handle("renameFile", (asked) => Effect.flatMap(addressOf(asked), (at) => files.rename(at, asked.payload)), {
          uninterruptible: true
        })
        .handle(
          "removeFile",
          (asked) => Effect.flatMap(addressOf(asked), (at) => files.remove(at, { recursive: asked.query.recursive })),
          { uninterruptible: true }
        )
    })
  )
}
