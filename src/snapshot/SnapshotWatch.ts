/** Reconciles the snapshots with the images of this host, at the start and then in intervals. */
import { Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { worker } from "../platform/worker/Worker.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { snapshotPass } from "./snapshotPass.ts"

export const SnapshotWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { snapshots } = yield* Runtime
      const { reconcileIntervalMs } = yield* Settings
      const pass = yield* snapshotPass
      const reconcile = pass(null, snapshots).pipe(
        Effect.catchCause((cause) => Effect.logWarning("Could not compare the host's images with the snapshots", cause))
      )
      yield* worker(
        "reconcile snapshots",
        reconcile.pipe(Effect.andThen(Effect.sleep(reconcileIntervalMs)), Effect.forever)
      )
    })
  )
}
