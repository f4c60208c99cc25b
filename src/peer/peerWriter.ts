/**
 * The writing side of a connection that somebody else has opened. What is written to one that has closed meanwhile is written to nobody, and over: Effect's own
 * waits for another one in its place, which there never is, in what cannot be interrupted; so a call that was under way would never end, nor what it is a
 * part of.
 */
import type { TLSSocket } from "node:tls"
import { Effect } from "effect"
import { Socket } from "effect/socket"

export const peerWriter = (socket: TLSSocket): Socket.Writer => {
  const drained = Effect.callback<void>((resume) => {
    const end = () => {
      socket.off("drain", end).off("close", end)
      resume(Effect.void)
    }
    socket.once("drain", end).once("close", end)
    return Effect.sync(() => socket.off("drain", end).off("close", end))
  })
  const writeAll = (chunks: ReadonlyArray<Uint8Array | string>) =>
    Effect.suspend(() => {
      let isTaken = true
      for (const chunk of chunks) if (!socket.destroyed) isTaken = socket.write(chunk)
      return isTaken || socket.destroyed ? Effect.void : drained
    })
  return {
    writeAll,
    write: (chunk) => (Socket.isCloseEvent(chunk) ? Effect.sync(() => void socket.destroy()) : writeAll([chunk]))
  }
}
