/** A service whose Sandboxes live on the hosts of a fleet. Needs the store and Settings. */
import { Layer } from "effect"
import { ActorCluster } from "../engine/ActorCluster.ts"
import { FleetCopies } from "../fleet/FleetCopies.ts"
import { FleetHosts } from "../fleet/FleetHosts.ts"
import { FleetPlacement } from "../fleet/FleetPlacement.ts"
import { FleetRuntime } from "../fleet/FleetRuntime.ts"
import { JoinServer } from "../fleet/JoinServer.ts"
import { Reservations } from "../fleet/Reservations.ts"
import { PeerSocketsLive } from "../peer/PeerSocketsLive.ts"
import { distantRuntime } from "../runtime/distant/distantRuntime.ts"
import { TracedRuntime } from "../runtime/TracedRuntime.ts"
import { Atoll } from "./Atoll.ts"

/** Hosts may join once their actors are registered. */
const resources = Atoll.ofFleet(
  {},
  { watch: JoinServer.layer, kinds: FleetHosts.actors, placement: FleetPlacement.layer }
)

export const fleetService = resources.pipe(
  Layer.provideMerge(TracedRuntime.layer.pipe(Layer.provide(FleetRuntime.layer))),
  Layer.provide(FleetCopies.layer),
  Layer.provide(Reservations.layer),
  Layer.provideMerge(FleetHosts.ways(distantRuntime)),
  Layer.provide(PeerSocketsLive.layer),
  Layer.provide(ActorCluster.layer)
)
