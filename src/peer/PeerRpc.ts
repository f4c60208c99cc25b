/**
 * Effect RPC between processes of a fleet: one connection for all calls of one client, opened again when it breaks.
 *
 * A call that is running when its connection breaks fails with an `RpcClientError`, and so does every call that starts before the next connection. A
 * peer that answers no ping counts as gone. Messages are lines of JSON, so that adjacent versions of Atoll understand each other, and no longer than
 * `MESSAGE_MAX_CHARS`.
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
  /** Runs after each connection. */
  readonly connected?: Effect.Effect<void>
  /** Runs when the peer answers no ping and its connection is given up. */
  readonly silent?: Effect.Effect<void>
}

/** A client of the RPCs at that address. It connects by itself until the scope closes. */
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

/** A connection handler for `PeerSockets.listen` that serves the group's handlers. The end of a connection interrupts its calls. */
export const peerRpcServer = <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>
): Effect.Effect<
  (socket: TLSSocket) => void,
  never,
  Scope.Scope | Rpc.ToHandler<Rpcs> | Rpc.Middleware<Rpcs> | Rpc.ServicesServer<Rpcs>
> =>
  Effect.gen(function* () {
    const { server, accept } = yield* acceptedPeers(NetAddress.unixPathAddress("/"))
    yield* RpcServer.make(group, { disableTracing: true, disableFatalDefects: true }).pipe(
      // A separate server protocol: that of actors, if this process has one, serves other connections.
      Effect.provide(RpcServer.layerProtocolSocketServer, { local: true }),
      Effect.provideService(SocketServer.SocketServer, server),
      Effect.provideService(RpcSerialization.RpcSerialization, serialization),
      Effect.forkScoped
    )
    return accept
  })
