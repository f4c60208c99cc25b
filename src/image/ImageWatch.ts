/** Reconciles the images of all accounts with those of this host, at the start and then in intervals. */
import { Effect, Layer } from "effect"
import { Runtime } from "../runtime/Runtime.ts"
import { imageReconciler } from "../sandbox/imageReconciler.ts"
import { imagePass } from "./imagePass.ts"

export const ImageWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { images } = yield* Runtime
      const pass = yield* imagePass
      yield* imageReconciler("reconcile images", "the host's images with the accounts'", pass(images))
    })
  )
}
