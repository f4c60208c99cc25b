/** A host of a fleet: a driver, its ingress, its membership in the fleet, and a health port. */
import { Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { HostFolder, presentDriver } from "../host/HostFolder.ts"
import { HostIngress } from "../host/ingress/HostIngress.ts"
import { Joining } from "../host/ingress/Joining.ts"
import { OwnHost } from "../host/ingress/OwnHost.ts"
import { RuntimeChoice } from "../host/RuntimeChoice.ts"
import { PeerSocketsLive } from "../peer/PeerSocketsLive.ts"
import { HostHealth } from "./HostHealth.ts"
import { launch } from "./Launch.ts"
import { boundMemory } from "./memory/boundMemory.ts"
import { ServiceProcesses } from "./ServiceProcesses.ts"
import { ShutdownReport } from "./ShutdownReport.ts"

export const driver = Layer.unwrap(Effect.map(Settings, ({ dataDir }) => RuntimeChoice.layer(presentDriver(dataDir))))

const kept = Layer.effectDiscard(
  Effect.gen(function* () {
    const { dataDir } = yield* Settings
    const { hostId } = yield* OwnHost
    yield* Effect.log(`This is the host ${hostId}. Its Sandboxes are in ${dataDir}.`)
  })
)

/** Stops in this order: leaves the fleet, closes the ingress, then reports which Sandboxes continue. */
const hostOver = (runtime: typeof driver) =>
  HostHealth.layer.pipe(
    Layer.provideMerge(Joining.layer),
    Layer.provide(HostIngress.layer),
    Layer.provide(kept),
    Layer.provide(OwnHost.layer),
    Layer.provide(ShutdownReport.layer),
    Layer.provide(runtime),
    Layer.provide(PeerSocketsLive.layer),
    Layer.provide(ServiceProcesses.layer),
    Layer.provide(HostFolder.layer)
  )

/** @param runtime Replaces the driver of the settings, for tests. */
export const start = (runtime = driver): void => {
  boundMemory()
  launch(
    hostOver(runtime),
    Effect.flatMap(Joining, ({ forbidden }) => forbidden)
  )
}
