/** Takes snapshots of machines' volumes, and makes the volumes of new machines from them. @see SnapshotStore */
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import {
  type CapturedSnapshot,
  type RuntimeRefused,
  RuntimeUnavailable,
  type SandboxSpec,
  type Snapshots
} from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { hold, letGo, release } from "../linux/holdMark.ts"
import { CopyTooSlow, copyImage } from "../linux/imageCopy.ts"
import {
  capturedOf,
  noRoomForSnapshot,
  noVolume,
  SnapshotStore,
  type StoredSnapshot,
  snapshotMissing
} from "../linux/SnapshotStore.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import type { HostRoom } from "./HostRoom.ts"
import type { LiveMachines } from "./LiveMachines.ts"
import { PAUSE_MAX_MS, writeOut } from "./machineHold.ts"
import type { QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import { SandboxFolder } from "./SandboxFolder.ts"

interface Copied {
  readonly isShared: boolean
  readonly pausedMs: number
}

const tooSlow = RuntimeUnavailable.known(
  publicText`The Sandbox's volume takes too long to copy while its machine stands still. Stop the Sandbox, and take the snapshot then.`
)

export interface MachineSnapshotsOptions {
  readonly host: QemuHost
  readonly store: SnapshotStore
  readonly room: HostRoom
  readonly live: LiveMachines
  readonly turns: HostMutex
  /** Runs the effect alone with this key, and to its end. */
  readonly locked: <A, E>(key: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

export class MachineSnapshots implements Snapshots {
  private readonly options: MachineSnapshotsOptions

  constructor(options: MachineSnapshotsOptions) {
    this.options = options
  }

  readonly capture = (
    snapshotId: string,
    sandboxId: string
  ): Effect.Effect<CapturedSnapshot, RuntimeRefused | RuntimeUnavailable> =>
    this.options.locked(SnapshotStore.keyOf(snapshotId), this.captured(snapshotId, sandboxId))

  readonly remove = (snapshotId: string): Effect.Effect<void, RuntimeUnavailable> => {
    const { locked, store } = this.options
    return locked(
      SnapshotStore.keyOf(snapshotId),
      attempt("removing a snapshot", () => store.remove(snapshotId))
    )
  }

  readonly inventory: Effect.Effect<ReadonlyArray<string>, RuntimeUnavailable> = Effect.suspend(() =>
    attempt("looking for snapshots", () => this.options.store.ids())
  )

  /** Removes what killed processes left unfinished. */
  readonly tidy: Effect.Effect<void> = Effect.suspend(() =>
    attempt("removing unfinished snapshots", () => this.options.store.tidy(this.options.turns))
  ).pipe(Effect.catch(({ message }) => Effect.logWarning(message)))

  /** The snapshot of which the Sandbox's volume is to be made; null when it has or had a volume, or starts empty. */
  originOf({
    sandboxId,
    snapshotId
  }: SandboxSpec): Effect.Effect<StoredSnapshot | null, RuntimeRefused | RuntimeUnavailable> {
    const { host, store } = this.options
    if (snapshotId === undefined) return Effect.succeed(null)
    const volume = new SandboxFolder(host.root, sandboxId).file("volume")
    if (existsSync(volume) || host.volumes.isMissing(sandboxId, () => false)) return Effect.succeed(null)
    return attempt("looking for a snapshot", () => store.find(snapshotId)).pipe(
      Effect.flatMap((found) =>
        found === null
          ? Effect.andThen(
              Effect.logError(`Sandbox ${sandboxId} does not start: snapshot ${snapshotId} is not in ${store.folder}`),
              Effect.fail(snapshotMissing())
            )
          : Effect.succeed(found)
      )
    )
  }

  private captured(
    snapshotId: string,
    sandboxId: string
  ): Effect.Effect<CapturedSnapshot, RuntimeRefused | RuntimeUnavailable> {
    const { host, store, room, live, locked } = this.options
    const find = attempt("looking for a snapshot", () => store.find(snapshotId))
    return Effect.gen({ self: this }, function* () {
      const present = yield* find
      if (present !== null) return capturedOf(present)
      // Of an earlier attempt.
      yield* attempt("removing an unfinished snapshot", () => store.removeUnfinished(snapshotId))
      const folder = new SandboxFolder(host.root, sandboxId)
      const bytes = yield* sizeOf(folder)
      const running = live.get(sandboxId)
      // Here nothing waits for it.
      if (running !== undefined && !running.stall) yield* Effect.promise(() => writeOut(running.machine))
      const partial = yield* attempt("making a snapshot", () => store.begin(snapshotId))
      const copy = Effect.gen({ self: this }, function* () {
        const { isShared, pausedMs } = yield* locked(sandboxId, this.copied(folder, partial))
        yield* attempt("writing a snapshot", async () => {
          const sharedBytes = isShared ? ((await allocatedBytes(partial)) ?? 0) : 0
          await store.complete(snapshotId, partial, { pausedMs, sharedBytes, owner: null })
        })
      })
      yield* room.copying(partial, bytes, copy).pipe(
        Effect.tapError(() => Effect.promise(() => rm(partial, { force: true }).catch(() => {}))),
        Effect.catchTag("NoRoom", ({ detail }) =>
          Effect.andThen(Effect.logWarning(`A snapshot was refused. ${detail}`), Effect.fail(noRoomForSnapshot()))
        )
      )
      const made = yield* find
      return made === null
        ? yield* unavailable(`Snapshot ${snapshotId} was removed while it was made.`)
        : capturedOf(made)
    })
  }

  /** With the machine's lock: it is neither started, ended nor removed meanwhile. */
  private copied(folder: SandboxFolder, partial: string): Effect.Effect<Copied, RuntimeRefused | RuntimeUnavailable> {
    const { live } = this.options
    const image = folder.file("volume")
    const copy = async () => {
      await rm(partial, { force: true })
      return copyImage(image, partial, PAUSE_MAX_MS)
    }
    return Effect.gen(function* () {
      yield* sizeOf(folder)
      // For a backup that reads it.
      yield* Effect.promise(() => letGo(image))
      const record = yield* attempt("reading a record", () => folder.read())
      if (record === null || processOf(record) === null) {
        const isShared = yield* attempt("copying a volume", () => copyHeld(image, partial))
        return { isShared, pausedMs: 0 }
      }
      if (record.state !== "running" || !(yield* live.adopted(folder, record))) {
        return yield* unavailable("The Sandbox's machine is starting or does not answer.")
      }
      const running = live.get(record.sandboxId)!
      if (running.stall) return yield* RuntimeUnavailable.known(running.stall.message)
      // What was written before the call is in it.
      yield* Effect.promise(() => writeOut(running.machine))
      const { result, pausedMs } = yield* Effect.tryPromise({
        try: () => live.whileStill(folder, running, copy),
        catch: (cause) =>
          cause instanceof CopyTooSlow ? tooSlow : unavailable(cause instanceof Error ? cause.message : String(cause))
      })
      return { isShared: result, pausedMs }
    })
  }
}

const sizeOf = (folder: SandboxFolder): Effect.Effect<number, RuntimeRefused | RuntimeUnavailable> =>
  Effect.flatMap(
    attempt("measuring a volume", () => allocatedBytes(folder.file("volume"))),
    (bytes) => (bytes === null ? Effect.fail(noVolume()) : Effect.succeed(bytes))
  )

/** Copies the volume of a machine that does not run. Another process of this data folder starts none meanwhile. */
const copyHeld = async (image: string, partial: string): Promise<boolean> => {
  await hold(image)
  try {
    return await copyImage(image, partial)
  } finally {
    await release(image)
  }
}
