/** Connections between the services of a fleet. They authenticate like all processes of the fleet. */
import { isIP } from "node:net"
import { Effect, Layer } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import { Socket } from "effect/socket"
import { acceptedPeers } from "../peer/acceptedPeers.ts"
import { type PeerAddress, PeerSockets } from "../peer/PeerSockets.ts"
import { ActorSockets } from "./ActorSockets.ts"

const protocol = "atoll-actors/1"

const openFault = (cause: unknown) =>
  new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) })

const serve = Effect.fnUntraced(function* (peers: PeerSockets["Service"], { host, port }: PeerAddress) {
  // In the form of the log.
  const address = NetAddress.inetAddressFromIpStringUnsafe(isIP(host) === 0 ? "0.0.0.0" : host, port)
  const { server, accept } = yield* acceptedPeers(address)
  yield* peers.listen({ host, port }, { [protocol]: accept })
  return server
})

export const PeerActorSockets = {
  /** Needs PeerSockets. */
  layer: Layer.effect(
    ActorSockets,
    Effect.map(PeerSockets, (peers) => ({
      open: (to) => Effect.mapError(peers.connect(to, protocol), openFault),
      serve: (at) => serve(peers, at)
    }))
  )
}
