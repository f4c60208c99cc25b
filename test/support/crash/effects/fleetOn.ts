/** A service of a fleet, as `src/app/FleetService.ts` composes it, except for the connections. */
import { Effect, Layer } from "effect"
import { Atoll } from "../../../../src/app/Atoll.ts"
import type { ActorCluster } from "../../../../src/engine/ActorCluster.ts"
import type { ActorHostOptions } from "../../../../src/engine/ActorHost.ts"
import { FleetCopies } from "../../../../src/fleet/FleetCopies.ts"
import { FleetHosts } from "../../../../src/fleet/FleetHosts.ts"
import { FleetPlacement } from "../../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../../src/fleet/FleetRuntime.ts"
import { Reservations } from "../../../../src/fleet/Reservations.ts"
import { type Runtime, RuntimeUnavailable } from "../../../../src/runtime/Runtime.ts"
import type { HostProgram } from "./HostProgram.ts"

export const fleetEnvironment = {
  ATOLL_HOST_LEASE_MS: "5000",
  ATOLL_HOST_LOST_AFTER_MS: "3000"
}

export const fleetOn = <E, R>(
  hosts: ReadonlyArray<HostProgram>,
  runtimeOf: (host: HostProgram) => Runtime["Service"],
  options: Partial<ActorHostOptions>,
  cluster: Layer.Layer<Layer.Success<typeof ActorCluster.layerSingle>, E, R>
) =>
  Atoll.ofFleet(options, {
    watch: Layer.empty,
    kinds: FleetHosts.actors,
    placement: FleetPlacement.layer
  }).pipe(
    Layer.provideMerge(FleetRuntime.layer),
    Layer.provide(FleetCopies.layer),
    Layer.provide(Reservations.layer),
    Layer.provideMerge(
      FleetHosts.ways((id) => {
        const host = hosts.find((one) => one.id === id)
        return host?.isUp
          ? Effect.succeed(host.noting(runtimeOf(host)))
          : Effect.fail(new RuntimeUnavailable({ message: `${id} cannot be reached.` }))
      })
    ),
    Layer.provide(cluster)
  )
