/**
 * The inventory of a host proves nothing about Sandboxes of another host. If the operator moves this database's Sandboxes to another data folder
 * while this process runs (or is frozen), its inventory fails from then on: so it destroys no machine and reports none as lost.
 */
import { Effect, Layer } from "effect"
import { Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { Installation } from "../store/Installation.ts"

export const HostBinding = {
  /** Wraps a Runtime. */
  layer: Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const { isOurs } = yield* Installation
      const inventory = Effect.flatMap(isOurs, (ours) =>
        ours
          ? runtime.inventory
          : Effect.fail(
              new RuntimeUnavailable({
                message: "This database's Sandboxes now live in another data folder. Stop this process."
              })
            )
      )
      return Runtime.of({ ...runtime, inventory })
    })
  )
}
