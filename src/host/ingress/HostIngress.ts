/** The port of a host at which the services of its fleet reach its Sandboxes. */
import { Effect, Layer } from "effect"
import { Settings } from "../../Config.ts"
import { PeerSockets } from "../../peer/PeerSockets.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { OwnHost } from "./OwnHost.ts"
import { serveHost } from "./serveHost.ts"

export const HostIngress = {
  /** Needs OwnHost, which receives the port, PeerSockets, the Runtime and Settings. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { fleetHost, fleetPort } = yield* Settings
      const runtime = yield* Runtime
      const { hostId, describe, listensOn } = yield* OwnHost
      const peers = yield* PeerSockets
      const handlers = yield* serveHost({ runtime, hostId, describe })
      const { port } = yield* peers.listen({ host: fleetHost, port: fleetPort }, handlers)
      listensOn(port)
    })
  )
}
