/** Closes connections on their bare sockets. */
import type { Duplex } from "node:stream"
import { Effect } from "effect"

/** Time for the client to read the last message. */
const lingerMs = 2000

/** Sends a last message and ends the connection, and cuts a client that does not end its side. Further input is discarded. */
export const endSoon = (socket: Duplex, lastWord?: string): void => {
  socket.end(lastWord)
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once("close", () => clearTimeout(timer))
}

/** Waits until either side has closed it. */
export const whenClosed = (socket: Duplex): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const closed = () => resume(Effect.void)
    if (socket.destroyed) return closed()
    socket.once("close", closed)
    return Effect.sync(() => socket.off("close", closed))
  })
