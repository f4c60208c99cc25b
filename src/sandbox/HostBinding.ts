/**
 * The inventory of one host says nothing about the Sandboxes of another. Should the operator have given this database's Sandboxes to
 * another data folder while this process lived (or was frozen), there is no inventory any more: nothing is destroyed or told as lost by it.
 */
import { Effect, Layer } from "effect"
import { Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { Installation } from "../store/Installation.ts"

export const HostBinding = {
  /** A Runtime in the place of another one. */
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
                message: "This database's Sandboxes live in another data folder by now. Stop this process."
              })
            )
      )
      return Runtime.of({ ...runtime, inventory })
    })
  )
}
