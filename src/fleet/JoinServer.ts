/** Where hosts join this service: ATOLL_FLEET_HOST and ATOLL_FLEET_PORT, over `atoll-join/1`. */
import type { TLSSocket } from "node:tls"
import { Context, Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { hostNameOf } from "../peer/hostName.ts"
import { peerRpcServer } from "../peer/PeerRpc.ts"
import { PeerSockets } from "../peer/PeerSockets.ts"
import { JoinRpcs } from "../runtime/distant/JoinRpcs.ts"
import { HostJoins } from "./HostJoins.ts"
import { JoinBounds } from "./JoinBounds.ts"

/**
 * @param name The peer's name in its certificate.
 * @param bounded Runs its calls within the limits.
 */
const handlersFor = (joins: HostJoins["Service"], name: string | null, bounded: ReturnType<JoinBounds["enter"]>) =>
  JoinRpcs.toLayer(
    JoinRpcs.of({
      Join: ({ key, ...description }) => bounded("join", joins.join(description, key, name)),
      Beat: (beat) => bounded("other", joins.beat(beat)),
      Leave: (left) => bounded("other", joins.leave(left))
    })
  )

const closed = (socket: TLSSocket) =>
  Effect.callback<void>((resume) => {
    const end = () => resume(Effect.void)
    if (socket.destroyed) end()
    else socket.once("close", end)
  })

export class JoinServer extends Context.Service<
  JoinServer,
  {
    /** The port in use. */
    readonly port: number
  }
>()("atoll/fleet/JoinServer") {
  static readonly layer = Layer.effect(
    JoinServer,
    Effect.gen(function* () {
      const { fleetHost: host, fleetPort } = yield* Settings
      const sockets = yield* PeerSockets
      const joins = yield* HostJoins
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const scope = yield* Effect.scope
      const bounds = new JoinBounds()
      /** Each connection has its own handlers, bound to its host's name. */
      const serveConnection = (socket: TLSSocket) => {
        const name = hostNameOf(socket)
        const handlers = handlersFor(joins, name, bounds.enter(socket, name))
        const served = Effect.gen(function* () {
          const accept = yield* peerRpcServer(JoinRpcs)
          accept(socket)
          yield* closed(socket)
        }).pipe(Effect.scoped, Effect.provide(handlers))
        run(Effect.forkIn(served, scope))
      }
      const { port } = yield* sockets.listen({ host, port: fleetPort }, { "atoll-join/1": serveConnection })
      yield* Effect.log(`Hosts join at ${host.includes(":") ? `[${host}]` : host}:${port}.`)
      return JoinServer.of({ port })
    })
  )
}
