/**
 * A Writer for a connection that the peer opened. Writes after its close are dropped. Effect's own Writer would wait, uninterruptibly, for a new
 * connection, which never comes: a running call would never end, nor would its caller.
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
