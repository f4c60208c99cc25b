/** Reconciles the images of all accounts with those of this host, at the start and then in intervals. */
import { Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { worker } from "../platform/worker/Worker.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { imagePass } from "./imagePass.ts"

export const ImageWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { images } = yield* Runtime
      const { reconcileIntervalMs } = yield* Settings
      const pass = yield* imagePass
      const reconcile = pass(images).pipe(
        Effect.catchCause((cause) => Effect.logWarning("Could not compare the host's images with the accounts'", cause))
      )
      yield* worker(
        "reconcile images",
        reconcile.pipe(Effect.andThen(Effect.sleep(reconcileIntervalMs)), Effect.forever)
      )
    })
  )
}
