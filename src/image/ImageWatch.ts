/** Reconciles the images of all accounts with those of this host, at the start and then in intervals. */
import { Effect, Layer } from "effect"
import { Runtime } from "../runtime/Runtime.ts"
import { imageReconciler } from "../sandbox/imageReconciler.ts"
import { imagePass } from "./imagePass.ts"
import { uploadedImages } from "./uploadedImages.ts"

export const ImageWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { images } = yield* Runtime
      const pass = yield* imagePass
      const uploaded = yield* uploadedImages
      const compare = Effect.gen(function* () {
        // Before the inventory: one that is made in between does not look lost.
        const usable = yield* uploaded.usable
        const there = new Set(yield* pass(images))
        yield* uploaded.tellLost(usable.filter(({ digest }) => !there.has(digest)))
      })
      yield* imageReconciler("reconcile images", "the host's images with the accounts'", compare)
    })
  )
}
