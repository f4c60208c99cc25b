/** Where hosts make themselves known to this service: ATOLL_FLEET_HOST and ATOLL_FLEET_PORT, over `atoll-join/1`. */
import { Context, Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { peerRpcDoor } from "../peer/PeerRpc.ts"
import { PeerSockets } from "../peer/PeerSockets.ts"
import { JoinRpcs } from "../runtime/distant/JoinRpcs.ts"
import { HostJoins } from "./HostJoins.ts"

const handlers = JoinRpcs.toLayer(
  Effect.map(HostJoins, ({ join, beat, leave }) =>
    JoinRpcs.of({ Join: ({ key, ...description }) => join(description, key), Beat: beat, Leave: leave })
  )
)

export class JoinServer extends Context.Service<
  JoinServer,
  {
    /** The port that was taken. */
    readonly port: number
  }
>()("atoll/fleet/JoinServer") {
  static readonly layer = Layer.effect(
    JoinServer,
    Effect.gen(function* () {
      const { fleetHost: host, fleetPort } = yield* Settings
      const sockets = yield* PeerSockets
      const door = yield* peerRpcDoor(JoinRpcs)
      const { port } = yield* sockets.listen({ host, port: fleetPort }, { "atoll-join/1": door })
      yield* Effect.log(`Hosts join at ${host.includes(":") ? `[${host}]` : host}:${port}.`)
      return JoinServer.of({ port })
    })
  ).pipe(Layer.provide(handlers))
}
