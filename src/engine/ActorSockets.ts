/** Connections between processes that share actors. Each end authenticates itself before the other reads a byte. */
import type { Duplex } from "node:stream"
import { Context, type Effect, type Scope } from "effect"
import type { Socket, SocketServer } from "effect/socket"
import type { PeerAddress, PeerUnusable } from "../peer/PeerSockets.ts"

export class ActorSockets extends Context.Service<
  ActorSockets,
  {
    readonly open: (to: PeerAddress) => Effect.Effect<Duplex, Socket.SocketError, Scope.Scope>
    readonly serve: (at: PeerAddress) => Effect.Effect<SocketServer.SocketServer["Service"], PeerUnusable, Scope.Scope>
  }
>()("atoll/engine/ActorSockets") {}
