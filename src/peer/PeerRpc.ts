/**
 * Effect RPC between processes of a fleet: one connection for all calls of one client, made anew where it breaks.
 *
 * A call that is under way when its connection breaks fails with an `RpcClientError`, and so does each one that is begun before there is another. A
 * peer that answers no ping counts as gone. Messages are lines of JSON, so that versions of Atoll that are a step apart understand each other, and
 * no longer than `MESSAGE_MAX_CHARS`.
 */
import type { TLSSocket } from "node:tls"
import * as NodeSocket from "@effect/platform-node-shared/NodeSocket"
import { Effect, Schedule, type Scope } from "effect"
import * as NetAddress from "effect/net/NetAddress"
import { type Rpc, RpcClient, type RpcGroup, RpcSerialization, RpcServer } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import { acceptedPeers } from "./acceptedPeers.ts"
import { type PeerPlace, type PeerProtocol, PeerSockets } from "./PeerSockets.ts"

const MESSAGE_MAX_CHARS = 8 * 1024 ** 2
const pings = { pingInterval: "2 seconds", pingTimeout: "10 seconds" } as const
const connectAgain = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("2 seconds")])

const serialization = RpcSerialization.makeNdjson({ maxBufferSize: MESSAGE_MAX_CHARS })

export interface PeerRpcEvents {
  /** Each time that there is a connection. */
  readonly connected?: Effect.Effect<void>
  /** The peer answers no ping; its connection is given up. */
  readonly silent?: Effect.Effect<void>
}

/** A client of what is served there. It connects by itself, for as long as the scope lasts. */
export const connectPeerRpcs = Effect.fnUntraced(function* <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  to: PeerPlace,
  protocol: PeerProtocol,
  events: PeerRpcEvents = {}
) {
  const sockets = yield* PeerSockets
  const open = Effect.mapError(
    sockets.connect(to, protocol),
    (cause) => new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) })
  )
  const clientProtocol = yield* RpcClient.makeProtocolSocket({
    ...pings,
    retryPolicy: connectAgain,
    onPingTimeout: events.silent
  }).pipe(
    Effect.provideService(Socket.Socket, yield* NodeSocket.fromDuplex(open)),
    Effect.provideService(RpcSerialization.RpcSerialization, serialization),
    Effect.provideService(RpcClient.ConnectionHooks, {
      onConnect: events.connected ?? Effect.void,
      onDisconnect: Effect.void
    })
  )
  return yield* RpcClient.make(group, { disableTracing: true }).pipe(
    Effect.provideService(RpcClient.Protocol, clientProtocol)
  )
})

/** A door for `PeerSockets.listen` behind which the group's handlers are. A connection's calls are interrupted with it. */
export const peerRpcDoor = <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>
): Effect.Effect<
  (socket: TLSSocket) => void,
  never,
  Scope.Scope | Rpc.ToHandler<Rpcs> | Rpc.Middleware<Rpcs> | Rpc.ServicesServer<Rpcs>
> =>
  Effect.gen(function* () {
    const { server, accept } = yield* acceptedPeers(NetAddress.unixPathAddress("/"))
    yield* RpcServer.make(group, { disableTracing: true, disableFatalDefects: true }).pipe(
      // Its own: the one of actors, if there is one in this process, has other connections.
      Effect.provide(RpcServer.layerProtocolSocketServer, { local: true }),
      Effect.provideService(SocketServer.SocketServer, server),
      Effect.provideService(RpcSerialization.RpcSerialization, serialization),
      Effect.forkScoped
    )
    return accept
  })
