/** Serves connections accepted by `PeerSockets.listen` as a SocketServer. */
import type { TLSSocket } from "node:tls"
import * as NodeSocket from "@effect/platform-node-shared/NodeSocket"
import { Effect, Queue } from "effect"
import type * as NetAddress from "effect/net/NetAddress"
import { Socket, SocketServer } from "effect/socket"
import { peerWriter } from "./peerWriter.ts"

/** `accept` is a connection handler for `PeerSockets.listen`. Connections that arrive before the server runs wait for it. */
export const acceptedPeers = Effect.fnUntraced(function* (address: NetAddress.SocketAddress) {
  const accepted = yield* Queue.unbounded<TLSSocket>()
  const server = SocketServer.SocketServer.of({
    address,
    run: (handler) =>
      Effect.forever(
        Effect.flatMap(Queue.take(accepted), (socket) => {
          const open = Effect.acquireRelease(Effect.succeed(socket), (it) => Effect.sync(() => it.destroySoon()))
          return NodeSocket.fromDuplex(open).pipe(
            Effect.map(({ reader }) => Socket.make({ reader, writer: Effect.succeed(peerWriter(socket)) })),
            Effect.flatMap(handler),
            Effect.catchCause((cause) => Effect.logDebug("A connection of a peer ended", cause)),
            Effect.forkChild
          )
        })
      )
  })
  return { server, accept: (socket: TLSSocket): void => void Queue.offerUnsafe(accepted, socket) }
})
