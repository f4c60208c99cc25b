/** The Placement of a service that carries its Sandboxes itself: it has one host, whose driver decides about capacity. */
import { Effect, Layer } from "effect"
import { UnsupportedByRuntime } from "../../schemas/Errors.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Placement } from "./Placement.ts"

const there = Effect.succeed({ is: "there" } as const)
const nothing = Effect.succeed(null)
const always = Effect.succeed(true)

export const OneHost = {
  layer: Layer.effect(
    Placement,
    Effect.map(Runtime, ({ kind, capabilities }) => {
      const here = Effect.succeed({ hostId: null, runtime: kind })
      return Placement.of({
        usual: kind,
        offers: (runtime) => Effect.succeed(runtime === kind),
        place: ({ runtime }) =>
          runtime === null || runtime === kind
            ? here
            : Effect.fail(
                new UnsupportedByRuntime({
                  message: `Sandboxes of this server have the runtime ${kind} (ATOLL_RUNTIME). Send that, or none.`
                })
              ),
        hostOf: () => nothing,
        resize: () => always,
        obstacle: () => nothing,
        standing: () => there,
        unsureForMs: 0,
        suspends: () => always,
        keepsMemory: () => Effect.sync(() => capabilities.memorySnapshots),
        supervised: nothing,
        leave: () => Effect.void,
        release: () => Effect.void
      })
    })
  )
}
