/** Ends of connections that are handled on their bare sockets. */
import type { Duplex } from "node:stream"
import { Effect } from "effect"

/** For the other side to read what was said last. */
const lingerMs = 2000

/** Says the last word, and cuts a client that does not end its side as well. What it still sends is not read. */
export const endSoon = (socket: Duplex, lastWord?: string): void => {
  socket.end(lastWord)
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once("close", () => clearTimeout(timer))
}

/** Waits until it is closed, whichever side did it. */
export const whenClosed = (socket: Duplex): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const closed = () => resume(Effect.void)
    if (socket.destroyed) return closed()
    socket.once("close", closed)
    return Effect.sync(() => socket.off("close", closed))
  })
