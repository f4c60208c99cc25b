/**
 * A file for a browser to save. It needs two things: the session's cookie, which the browser sends for any page, and a
 * ticket of that session, which only the console's page can request. So a leaked URL alone opens nothing.
 *
 * @source RFC 6266 (Content-Disposition), RFC 8187 section 3.2.1 (its filename*)
 */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { Caller } from "../../../schemas/Access.ts"
import { ConsoleApi } from "../../../schemas/console/ConsoleApi.ts"
import { CrossSiteRequest } from "../../../schemas/Errors.ts"
import { offsetMax } from "../../../schemas/Limits.ts"
import { Tickets } from "../../console/server/Tickets.ts"
import { Files } from "../../files/Files.ts"
import { fileAddress } from "./fileAddress.ts"
import { leanGroup } from "./LeanContext.ts"
import { OpenStreams } from "./OpenStreams.ts"

/** Characters that a saved file's name must not have: controls, characters that change the text's direction, and bytes that are no text. */
const unspeakable = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}"\\/]/gu

export const dispositionOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(unspeakable, "_")
  const plain = name.replace(/[^\x20-\x7e]/g, "_")
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

export const ConsoleDownloadHandlers = {
  layer: leanGroup(
    ConsoleApi,
    "downloads",
    Effect.fnUntraced(function* (handlers) {
      const files = yield* Files
      const tickets = yield* Tickets
      const streams = yield* OpenStreams
      return handlers.handle(
        "downloadFile",
        Effect.fnUntraced(function* (asked) {
          const { accountId, sessionId } = yield* Caller
          const redeemed = yield* tickets.redeem(asked.query.ticket)
          if (redeemed.sessionId !== sessionId) return yield* new CrossSiteRequest()
          const at = yield* fileAddress(asked)
          const { body, offset, nextOffset } = yield* files
            .read(at, { offset: 0, maxBytes: offsetMax, cursor: null })
            .pipe(Effect.catchTag("CURSOR_STALE", Effect.die))
          // It may take hours, and ends with its session.
          yield* Effect.acquireRelease(
            streams.open({ accountId, credentialId: redeemed.sessionId!, end: () => void body.destroy() }),
            (leave) => Effect.sync(leave)
          )
          return HttpServerResponse.raw(body, {
            contentType: "application/octet-stream",
            contentLength: nextOffset - offset,
            headers: {
              "content-disposition": dispositionOf(at.path),
              "cache-control": "no-store",
              "content-security-policy": "sandbox; default-src 'none'",
              "cross-origin-resource-policy": "same-origin",
              "x-content-type-options": "nosniff"
            }
          })
        })
      )
    })
  )
}
