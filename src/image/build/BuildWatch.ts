/**
 * Deletes the Sandboxes of builds whose image was never stored and that no living process makes, at the start and then in intervals. It needs no host: a
 * deletion that is committed is the Sandbox's own.
 */
import { Effect, Layer } from "effect"
import { BuildLeases } from "../../sandbox/BuildLeases.ts"
import { imageReconciler } from "../../sandbox/imageReconciler.ts"
import { buildSandbox } from "./buildSandbox.ts"

/** A deletion is awaited for seconds. */
const atATime = 8

export const BuildWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const leases = yield* BuildLeases
      const builders = yield* buildSandbox
      const pass = Effect.flatMap(leases.lapsed, (lapsed) =>
        Effect.forEach(
          lapsed,
          (build) =>
            Effect.andThen(
              Effect.logWarning(`Deleting the Sandbox ${build.sandboxId} of a build that was given up`),
              // A failed deletion must not block the others.
              Effect.ignore(builders.end(build))
            ),
          { concurrency: atATime, discard: true }
        )
      )
      yield* imageReconciler("reconcile builds", "the Sandboxes of builds with their images", pass)
    })
  )
}
