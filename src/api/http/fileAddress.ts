/** The Sandbox and the file path of a request. */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { InvalidPath } from "../../../schemas/Errors.ts"
import type { FileAddress } from "../../files/Files.ts"

export interface FileRequest {
  readonly params: { readonly id: string }
  readonly query: { readonly path: string }
  readonly request: HttpServerRequest.HttpServerRequest
}

/** The query's decoder keeps text that is not percent-encoded UTF-8 unchanged: such a path would silently name another file. */
const isEncoded = (url: string): boolean => {
  try {
    decodeURIComponent(url.slice(url.indexOf("?") + 1))
    return true
  } catch {
    return false
  }
}

export const fileAddress = ({ params, query, request }: FileRequest): Effect.Effect<FileAddress, InvalidPath, Caller> =>
  Effect.flatMap(Caller, ({ accountId, exhaustedAt }) =>
    isEncoded(request.url)
      ? Effect.succeed({ accountId, exhaustedAt, sandboxId: params.id, path: query.path })
      : Effect.fail(
          new InvalidPath({
            message: "The query is not percent-encoded UTF-8. A name's other bytes are U+10FE00 + byte."
          })
        )
  )
