/** The reconciler's passes over one host: compares its machines with its Sandboxes, and looks for missing volumes. */
import { Effect } from "effect"
import type { ImagePass } from "../image/imagePass.ts"
import type { UploadedImages } from "../image/uploadedImages.ts"
import { type Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import type { Hearing } from "../sandbox/Hearing.ts"
import { reconcilerPass } from "../sandbox/HostReconciler.ts"
import type { RuntimeNews } from "../sandbox/RuntimeNews.ts"
import { aliveStates, runtimelessStates } from "../sandbox/sandboxStates.ts"
import type { SnapshotPass } from "../snapshot/snapshotPass.ts"
import type { Canaries } from "./canary.ts"
import type { HostSandboxes } from "./hostSandboxes.ts"
import type { ImagesOnHosts } from "./imagesOnHosts.ts"

/** Time limit of a call: the next pass asks again. */
const answerWithin = "30 seconds"

interface Compared {
  readonly sandboxes: HostSandboxes
  readonly news: RuntimeNews
  readonly hearing: Hearing
  readonly canaries: Canaries
  readonly snapshots: SnapshotPass
  readonly images: ImagePass
  readonly imageRows: ImagesOnHosts
  readonly uploaded: UploadedImages
}

/** The passes by one connection to the host; they share one state. */
export const hostPass = (
  hostId: string,
  runtime: Runtime["Service"],
  { sandboxes, news, hearing, canaries, snapshots, images, imageRows, uploaded }: Compared
) => {
  const answered = <A>(call: Effect.Effect<A, RuntimeUnavailable>) =>
    Effect.timeoutOrElse(call, {
      duration: answerWithin,
      orElse: () => Effect.fail(new RuntimeUnavailable({ message: "The host does not answer." }))
    })
  const inventory = Effect.map(answered(runtime.inventory), (entries) =>
    entries.filter(({ sandboxId }) => !canaries.has(sandboxId))
  )
  let stopped: ReadonlyArray<string> = []
  const expected = Effect.map(sandboxes.bound, (bound) => {
    stopped = bound
      .filter(({ status, hasRun, isBusy }) => hasRun && !isBusy && runtimelessStates.includes(status))
      .map(({ id }) => id)
    return bound.filter(({ status }) => aliveStates.includes(status))
  })
  const look = reconcilerPass({
    expected,
    inventory,
    find: sandboxes.known,
    stop: (sandboxId, generation) => answered(runtime.stop(sandboxId, generation)),
    destroy: (sandboxId) => answered(runtime.destroy(sandboxId)),
    news,
    seenAt: Effect.sync(hearing.seenAt),
    toldUntil: (at) => Effect.sync(() => hearing.toldUntil(at))
  })
  /** A host that does not tell its images is compared without them. */
  const capturedImages = answered(runtime.snapshots.inventory).pipe(
    Effect.flatMap((ids) =>
      snapshots(hostId, {
        inventory: Effect.succeed(ids),
        remove: (id, of) => answered(runtime.snapshots.remove(id, of))
      })
    ),
    Effect.catch((error) => Effect.logWarning(`Could not compare the images of the host ${hostId}`, error.message))
  )
  const pulledImages = answered(runtime.images.inventory).pipe(
    Effect.flatMap((digests) =>
      images({
        inventory: Effect.succeed(digests),
        remove: (digest) => answered(runtime.images.remove(digest)),
        uploads: answered(runtime.images.uploads),
        discard: (imageId) => answered(runtime.images.discard(imageId))
      })
    ),
    Effect.flatMap((known) => imageRows.replace(hostId, known, uploaded.tellLost)),
    Effect.catch((error) =>
      Effect.logWarning(`Could not compare the pulled images of the host ${hostId}`, error.message)
    )
  )
  const reconcile = Effect.gen(function* () {
    const seen = yield* look
    const here = seen.inventory.map(({ sandboxId }) => sandboxId)
    for (const { id, isMissing } of yield* sandboxes.noteMissing(stopped, here)) {
      yield* isMissing
        ? Effect.logError(`The volume of ${id} is missing on its host ${hostId}`)
        : Effect.logInfo(`The volume of ${id} is back on its host ${hostId}`)
    }
    yield* sandboxes.repairReservations
    yield* capturedImages
    yield* pulledImages
    return seen
  })
  return {
    /** Fails if the host does not answer. */
    reach: inventory,
    reconcile
  }
}
