/** The snapshots of the simulated runtime: only which volume each one holds. */
import { Readable } from "node:stream"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { type ImagePiece, RuntimeRefused, RuntimeUnavailable, type Snapshots } from "../../runtime/Runtime.ts"
import { onlyUnavailable } from "./onlyUnavailable.ts"
import type { SimulatedWorld } from "./SimulatedWorld.ts"

/** The size of every simulated volume. */
const volumeBytes = 4 * 1024 * 1024
const blockBytes = 4096
/** As if the volume had one file with its Sandbox's id. */
const contentOf = (sandboxId: string): Buffer => Buffer.alloc(blockBytes, sandboxId || "imported")

/** Of a volume in use: a real host measures fractions, too. */
const fractionMs = 0.25

export const snapshotMissing = () =>
  new RuntimeRefused({ code: "SNAPSHOT_MISSING", message: publicText`The snapshot is not on the host.` })

const volumeMissing = () =>
  new RuntimeRefused({ code: "VOLUME_MISSING", message: publicText`The Sandbox has no volume.` })

export const simulatedSnapshots = (world: SimulatedWorld): Snapshots => ({
  capture: Effect.fnUntraced(function* (snapshotId, sandboxId, memory) {
    yield* world.intercept("capture", snapshotId)
    if (!world.snapshots.has(snapshotId)) {
      if (!world.volumes.has(sandboxId)) {
        return yield* volumeMissing()
      }
      if (memory === true && !world.machines.has(sandboxId)) {
        return yield* new RuntimeRefused({ code: "MEMORY_LOST", message: publicText`The Sandbox has no memory.` })
      }
      world.snapshots.set(snapshotId, sandboxId)
    }
    const pausedMs = world.machines.has(sandboxId) ? fractionMs : 0
    return { hostId: null, sizeBytes: volumeBytes, storedBytes: world.storedBytes, pausedMs }
  }),
  restore: Effect.fnUntraced(function* (snapshotId, sandboxId, generation) {
    yield* world.intercept("restore", sandboxId)
    const machine = world.machines.get(sandboxId)
    const restored = world.restored.get(sandboxId)
    if (restored !== undefined && restored.generation >= generation) return
    if (machine !== undefined && machine.spec.generation > generation) return
    if (machine !== undefined) return yield* new RuntimeUnavailable({ message: "The Sandbox still runs." })
    if (!world.volumes.has(sandboxId)) return yield* volumeMissing()
    if (!world.snapshots.has(snapshotId)) return yield* snapshotMissing()
    world.restored.set(sandboxId, { snapshotId, generation })
  }),
  read: Effect.fnUntraced(function* (snapshotId) {
    const source = world.snapshots.get(snapshotId)
    if (source === undefined) return yield* snapshotMissing()
    const pieces = world.imported.get(snapshotId) ?? [{ offset: blockBytes, bytes: contentOf(source) }]
    return { sizeBytes: volumeBytes, owner: null, pieces: Readable.from(pieces) as AsyncIterable<ImagePiece> }
  }),
  receive: Effect.fnUntraced(function* (snapshotId, { pieces }) {
    yield* world.intercept("receive", snapshotId)
    const received: Array<ImagePiece> = []
    yield* Effect.tryPromise({
      try: async () => {
        for await (const { offset, bytes } of pieces) received.push({ offset, bytes: Uint8Array.from(bytes) })
      },
      catch: (cause) => new RuntimeUnavailable({ message: String(cause) })
    })
    world.imported.set(snapshotId, received)
    return { hostId: null }
  }),
  accept: Effect.fnUntraced(function* (snapshotId) {
    yield* world.intercept("accept", snapshotId)
    if (!world.imported.has(snapshotId)) return yield* snapshotMissing()
    world.snapshots.set(snapshotId, "")
    return { hostId: null, sizeBytes: volumeBytes, storedBytes: world.storedBytes, pausedMs: 0 }
  }),
  remove: (snapshotId) =>
    world.intercept("removeSnapshot", snapshotId).pipe(
      Effect.mapError(onlyUnavailable),
      Effect.andThen(
        Effect.sync(() => {
          world.snapshots.delete(snapshotId)
          world.imported.delete(snapshotId)
        })
      )
    ),
  inventory: Effect.suspend(() => world.intercept("inventory", "")).pipe(
    Effect.mapError(onlyUnavailable),
    Effect.map(() => [...world.snapshots.keys()])
  )
})
