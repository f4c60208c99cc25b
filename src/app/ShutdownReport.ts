/** Shutdown report: logs at the service's stop which Sandboxes continue or end. */
import { Effect, Layer } from "effect"
import { endsItsContainer } from "../host/linux/containerEnd.ts"
import { Runtime } from "../runtime/Runtime.ts"

const ends = (count: number): string =>
  `${count === 1 ? "One Sandbox ends" : `${count} Sandboxes end`} with this container; the volumes stay, and a start boots them again.`

const leaves = (count: number): string =>
  `${count === 1 ? "One Sandbox continues" : `${count} Sandboxes continue`} without Atoll, and the next start finds them. npm run atoll -- down ends them, too.`

export const ShutdownReport = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { inventory } = yield* Runtime
      yield* Effect.addFinalizer(() =>
        inventory.pipe(
          Effect.map((found) => found.filter(({ state }) => state === "running").length),
          Effect.flatMap((count) =>
            count === 0 ? Effect.void : Effect.log(endsItsContainer() ? ends(count) : leaves(count))
          ),
          Effect.ignore
        )
      )
    })
  )
}
