/**
 * The accepted connections of one port, in any state. A server waits at its end until each connection has closed, but reports only
 * those with a finished handshake.
 *
 * @source node:diagnostics_channel "net.server.socket"
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { Effect } from "effect"

const channel = "net.server.socket"

/** Call it before the server listens. `end` closes all connections, and each later one: a connection may be half made when the server closes. */
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
