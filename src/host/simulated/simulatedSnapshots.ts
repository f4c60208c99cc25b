/** The snapshots of the simulated runtime: only which volume each one holds. */
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused, type Snapshots } from "../../runtime/Runtime.ts"
import { onlyUnavailable } from "./onlyUnavailable.ts"
import type { SimulatedWorld } from "./SimulatedWorld.ts"

/** The size of every simulated volume. */
const volumeBytes = 4 * 1024 * 1024
/** Of a volume in use: a real host measures fractions, too. */
const fractionMs = 0.25

export const snapshotMissing = () =>
  new RuntimeRefused({ code: "SNAPSHOT_MISSING", message: publicText`The snapshot is not on the host.` })

export const simulatedSnapshots = (world: SimulatedWorld): Snapshots => ({
  capture: Effect.fnUntraced(function* (snapshotId, sandboxId) {
    yield* world.intercept("capture", snapshotId)
    if (!world.snapshots.has(snapshotId)) {
      if (!world.volumes.has(sandboxId)) {
        return yield* new RuntimeRefused({ code: "VOLUME_MISSING", message: publicText`The Sandbox has no volume.` })
      }
      world.snapshots.set(snapshotId, sandboxId)
    }
    const pausedMs = world.machines.has(sandboxId) ? fractionMs : 0
    return { hostId: null, sizeBytes: volumeBytes, storedBytes: volumeBytes, pausedMs }
  }),
  remove: (snapshotId) =>
    world
      .intercept("removeSnapshot", snapshotId)
      .pipe(
        Effect.mapError(onlyUnavailable),
        Effect.andThen(Effect.sync(() => void world.snapshots.delete(snapshotId)))
      ),
  inventory: Effect.suspend(() => world.intercept("inventory", "")).pipe(
    Effect.mapError(onlyUnavailable),
    Effect.map(() => [...world.snapshots.keys()])
  )
})
