/**
 * The connections that were accepted on one port, whatever they wait for: a server's own end waits until each of them has ended, and tells
 * only of those whose handshake is done.
 *
 * @source node:diagnostics_channel "net.server.socket"
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { Effect } from "effect"

const channel = "net.server.socket"

/** Before the server listens. `end` cuts them, and each that comes later: a last connection may be half made when the server closes. */
export const acceptedSockets = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const open = new Set<Socket>()
      let hasEnded = false
      const accepted = (message: unknown): void => {
        const { socket } = message as { readonly socket: Socket }
        if (socket.localPort !== port) return
        if (hasEnded) return void socket.destroy()
        open.add(socket)
        socket.once("close", () => open.delete(socket))
      }
      subscribe(channel, accepted)
      const end = (): void => {
        hasEnded = true
        for (const socket of open) socket.destroy()
      }
      return { accepted, end }
    }),
    ({ accepted }) => Effect.sync(() => unsubscribe(channel, accepted))
  )
