/**
 * Request bodies without node:http's limit on a request's total time. A sender that is silent while the service waits for more of
 * the body is still disconnected.
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, type Scope } from "effect"

const silentMs = 60_000
const lookEveryMs = 5000

/** Connections that receive such a body. */
const uploading = new WeakSet<Duplex>()
export const isUploading = (connection: Duplex): boolean => uploading.has(connection)

/** `POST …/files/archive`, `POST /snapshots`, `POST /images/upload` and `POST /images/build`, recognised by their request lines, before any of the body is read. */
export const mayBeLong = ({ method, url }: IncomingMessage): boolean =>
  method === "POST" &&
  /^\/api\/v2\/(?:sandboxes\/[^/?]+\/files\/archive|snapshots|images\/(?:upload|build))(?:\?|$)/.test(url ?? "")

/** Until the scope ends. While the request is paused, the sender may be silent without limit. */
export const longUpload = (
  request: IncomingMessage,
  options: { readonly silentMs?: number } = {}
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const { socket } = request
        const withinMs = options.silentMs ?? silentMs
        uploading.add(socket)
        let read = socket.bytesRead
        let heardAt = performance.now()
        return setInterval(
          () => {
            if (socket.bytesRead !== read || request.isPaused() || request.complete) {
              read = socket.bytesRead
              heardAt = performance.now()
            } else if (performance.now() - heardAt > withinMs) request.destroy()
          },
          Math.min(lookEveryMs, withinMs)
        ).unref()
      }),
      (looking) =>
        Effect.sync(() => {
          clearInterval(looking)
          uploading.delete(request.socket)
        })
    )
  )
