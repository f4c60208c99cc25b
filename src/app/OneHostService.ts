/** A service whose Sandboxes live on its own host, in its data folder. Needs the store and Settings. */
import { Effect, Layer } from "effect"
import { ActorCluster } from "../engine/ActorCluster.ts"
import { RuntimeChoice } from "../host/RuntimeChoice.ts"
import { TracedRuntime } from "../runtime/TracedRuntime.ts"
import { HostBinding } from "../sandbox/HostBinding.ts"
import { RuntimeBinding } from "../sandbox/RuntimeBinding.ts"
import { Installation } from "../store/Installation.ts"
import { Atoll } from "./Atoll.ts"

const runtime = HostBinding.layer.pipe(
  Layer.provide(TracedRuntime.layer),
  Layer.provide(Layer.unwrap(Effect.map(Installation, ({ driver }) => RuntimeChoice.layer(driver))))
)

export const oneHostService = Atoll.layer().pipe(
  Layer.provide(RuntimeBinding.layer),
  Layer.provideMerge(runtime),
  Layer.provide(ActorCluster.layer)
)
