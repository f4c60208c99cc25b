/**
 * Actor messages between processes: over the fleet's connections if a secret or certificates are configured, else over connections
 * authenticated with a key from the database.
 */
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import { Effect, Layer, Option, Schedule } from "effect"
import { Runners, ShardingConfig } from "effect/cluster"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { Socket, SocketServer } from "effect/socket"
import type { SqlClient } from "effect/sql"
import { Settings, type SettingsUnusable } from "../Config.ts"
import type { PeerUnusable } from "../peer/PeerSockets.ts"
import { fleetCredentials, PeerSocketsLive } from "../peer/PeerSocketsLive.ts"
import { ActorSockets } from "./ActorSockets.ts"
import { DatabaseKeySockets } from "./DatabaseKeySockets.ts"
import { PeerActorSockets } from "./PeerActorSockets.ts"

const openTimeout = "1 second"
/** A process that does not answer these pings in time is given up; its actors may soon have another owner. */
const pings = { pingInterval: "1 second", pingTimeout: "2 seconds" } as const
const connectAgain = Schedule.spaced("100 millis")

const sockets = Layer.unwrap(
  Effect.gen(function* (): Effect.fn.Return<
    Layer.Layer<ActorSockets, PeerUnusable | SettingsUnusable, SqlClient.SqlClient | Settings>,
    SettingsUnusable,
    Settings
  > {
    const credentials = yield* fleetCredentials(yield* Settings)
    return credentials === null
      ? DatabaseKeySockets.layer
      : PeerActorSockets.layer.pipe(Layer.provide(PeerSocketsLive.layer))
  })
)

export const SealedSockets = {
  /** The connections themselves, for both directions and for the probes of other processes. */
  layer: sockets,

  /** Outgoing. Needs ActorSockets. */
  layerClients: Layer.effect(
    Runners.RpcClientProtocol,
    Effect.gen(function* () {
      const serialization = yield* RpcSerialization.RpcSerialization
      const { open } = yield* ActorSockets
      return {
        codecFor: serialization.codecFor,
        make: Effect.fnUntraced(function* (to) {
          const socket = yield* NodeSocket.fromDuplex(open(to), { openTimeout })
          return yield* RpcClient.makeProtocolSocket({ ...pings, retryPolicy: connectAgain }).pipe(
            Effect.provideService(Socket.Socket, socket),
            Effect.provideService(RpcSerialization.RpcSerialization, serialization)
          )
        }, Effect.orDie)
      }
    })
  ),

  /** Incoming. Needs ActorSockets. */
  layerServer: Layer.effect(
    SocketServer.SocketServer,
    Effect.gen(function* () {
      const { runnerAddress } = yield* ShardingConfig.ShardingConfig
      const { serve } = yield* ActorSockets
      return yield* serve(Option.getOrThrow(runnerAddress))
    })
  )
}
