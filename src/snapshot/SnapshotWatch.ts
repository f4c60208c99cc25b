/** Reconciles the snapshots with the images of this host, at the start and then in intervals. */
import { Effect, Layer } from "effect"
import { Runtime } from "../runtime/Runtime.ts"
import { imageReconciler } from "../sandbox/imageReconciler.ts"
import { snapshotPass } from "./snapshotPass.ts"

export const SnapshotWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { snapshots } = yield* Runtime
      const pass = yield* snapshotPass
      yield* imageReconciler("reconcile snapshots", "the host's images with the snapshots", pass(null, snapshots))
    })
  )
}
