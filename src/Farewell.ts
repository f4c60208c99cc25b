/** At the service's stop: says what it leaves running. */
import { Effect, Layer } from "effect"
import { Runtime } from "./runtime/Runtime.ts"

const leaves = (count: number): string =>
  `${count === 1 ? "One Sandbox goes" : `${count} Sandboxes go`} on without Atoll, and the next start finds them. npm run atoll -- down ends them, too.`

export const Farewell = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { inventory } = yield* Runtime
      yield* Effect.addFinalizer(() =>
        inventory.pipe(
          Effect.map((found) => found.filter(({ state }) => state === "running").length),
          Effect.flatMap((count) => (count === 0 ? Effect.void : Effect.log(leaves(count)))),
          Effect.ignore
        )
      )
    })
  )
}
