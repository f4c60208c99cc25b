/**
 * Request bodies that may take as long as they come: node:http's limit of a request's time does not hold for them. A sender who falls silent
 * while more of the body is waited for is given up all the same.
 */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Effect, type Scope } from "effect"

const silentMs = 60_000
const lookEveryMs = 5000

/** Connections on which such a body comes in. */
const uploading = new WeakSet<Duplex>()
export const isUploading = (connection: Duplex): boolean => uploading.has(connection)

/** `POST …/files/archive`: known from the first line on, before any of the body was asked for. */
export const mayBeLong = ({ method, url }: IncomingMessage): boolean =>
  method === "POST" && /^\/api\/v2\/sandboxes\/[^/?]+\/files\/archive(?:\?|$)/.test(url ?? "")

/** For as long as the scope: a body that is not wanted for now (the request is paused) may be silent for ever. */
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
