/** Takes snapshots of machines' volumes, and makes the volumes of new machines from them. @see SnapshotStore */
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import {
  type CapturedSnapshot,
  RuntimeRefused,
  RuntimeUnavailable,
  RuntimeUnsupported,
  type SandboxSpec,
  type SnapshotImage,
  type Snapshots
} from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { ImageUnusable, snapshotUnusable } from "../linux/checkedImage.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { hold, letGo, release } from "../linux/holdMark.ts"
import { CopyTooSlow, copyImage, copyVolume, flushed } from "../linux/imageCopy.ts"
import {
  capturedOf,
  noRoomForSnapshot,
  noVolume,
  SnapshotMissing,
  type SnapshotRecord,
  SnapshotStore,
  type StoredMemory,
  type StoredSnapshot,
  snapshotMissing
} from "../linux/SnapshotStore.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { dropFork, layDownFork } from "./forkedMemory.ts"
import type { HostRoom, NoRoom } from "./HostRoom.ts"
import type { LiveMachines } from "./LiveMachines.ts"
import type { MachineShape } from "./machineArguments.ts"
import { PAUSE_MAX_MS, writeOut } from "./machineHold.ts"
import { copySleeping, machineKey, saveMemory, versionOf } from "./memoryCapture.ts"
import type { QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import { refusingWithoutRoom } from "./roomRefusals.ts"
import { type MachineRecord, SandboxFolder } from "./SandboxFolder.ts"

interface Copied {
  readonly isShared: boolean
  readonly pausedMs: number
  /** Null without memory. */
  readonly memory: Required<SnapshotRecord>["memory"] | null
  /** For the memory to be complete. */
  readonly settled: Promise<void>
}

/** The files that are made. */
interface Partial {
  readonly image: string
  /** Null: the volume only. */
  readonly memory: StoredMemory | null
}

const tooSlow = RuntimeUnavailable.known(
  publicText`The Sandbox's volume takes too long to copy while its machine stands still. Stop the Sandbox, and take the snapshot then.`
)

const noMemory = new RuntimeRefused({
  code: "MEMORY_LOST",
  message: publicText`The Sandbox's machine neither runs nor sleeps, so it has no memory that a snapshot could keep.`
})

const ofSnapshot = refusingWithoutRoom("A snapshot", noRoomForSnapshot)
const ofRollback = refusingWithoutRoom("A rollback", noRoomForSnapshot)

export interface MachineSnapshotsOptions {
  readonly host: QemuHost
  readonly store: SnapshotStore
  readonly room: HostRoom
  readonly live: LiveMachines
  readonly turns: HostMutex
  /** The devices of a recorded machine. */
  readonly shapeOf: (record: MachineRecord) => MachineShape
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
    sandboxId: string,
    memory = false
  ): Effect.Effect<CapturedSnapshot, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported> =>
    memory && !this.options.host.qemu.clones
      ? Effect.fail(new RuntimeUnsupported({ message: "This host's QEMU is older than 8.2 and cannot save memory." }))
      : this.options.locked(SnapshotStore.keyOf(snapshotId), ofSnapshot(this.captured(snapshotId, sandboxId, memory)))

  readonly restore = (
    snapshotId: string,
    sandboxId: string,
    generation: number
  ): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> => {
    const { locked } = this.options
    const restored = ofRollback(this.restored(snapshotId, sandboxId, generation))
    return locked(SnapshotStore.keyOf(snapshotId), locked(sandboxId, restored))
  }

  readonly read = (snapshotId: string): Effect.Effect<SnapshotImage, RuntimeRefused | RuntimeUnavailable> =>
    attempt("reading a snapshot", () =>
      this.options.store.image(snapshotId).catch((cause: unknown) => {
        if (cause instanceof SnapshotMissing) return null
        throw cause
      })
    ).pipe(Effect.flatMap((image) => (image === null ? Effect.fail(snapshotMissing()) : Effect.succeed(image))))

  /** Its whole size is admitted, as that of each Sandbox that will be made of it. */
  readonly receive = (
    snapshotId: string,
    image: SnapshotImage
  ): Effect.Effect<{ readonly hostId: null }, RuntimeRefused | RuntimeUnavailable> => {
    const { locked, store, room } = this.options
    const path = store.receivingPath(snapshotId)
    const write = attempt("receiving a snapshot", () => store.receive(snapshotId, image))
    return locked(SnapshotStore.keyOf(snapshotId), ofSnapshot(room.copying(path, image.sizeBytes, write))).pipe(
      Effect.as({ hostId: null }),
      Effect.uninterruptible
    )
  }

  readonly accept = (snapshotId: string): Effect.Effect<CapturedSnapshot, RuntimeRefused | RuntimeUnavailable> => {
    const { locked, store } = this.options
    const accepted = Effect.tryPromise({
      try: () => store.accept(snapshotId, false),
      catch: (cause): RuntimeRefused | RuntimeUnavailable => {
        if (cause instanceof SnapshotMissing) return snapshotMissing()
        if (cause instanceof ImageUnusable) return snapshotUnusable()
        return unavailable(cause instanceof Error ? cause.message : String(cause))
      }
    }).pipe(Effect.map(capturedOf))
    return locked(SnapshotStore.keyOf(snapshotId), ofSnapshot(accepted))
  }

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

  /**
   * The snapshot of which the Sandbox's volume is to be made; null when it has or had a volume, or starts empty.
   *
   * @param isFork Its volume came from an attempt that no client has seen running.
   */
  originOf(
    { sandboxId, snapshotId }: SandboxSpec,
    isFork: boolean
  ): Effect.Effect<StoredSnapshot | null, RuntimeRefused | RuntimeUnavailable> {
    const { host, store } = this.options
    if (snapshotId === undefined) return Effect.succeed(null)
    const volume = new SandboxFolder(host.root, sandboxId).file("volume")
    const hasVolume = existsSync(volume) || host.volumes.isMissing(sandboxId, () => false)
    if (hasVolume && !isFork) return Effect.succeed(null)
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
    sandboxId: string,
    withMemory: boolean
  ): Effect.Effect<CapturedSnapshot, NoRoom | RuntimeRefused | RuntimeUnavailable> {
    const { host, store, room, live, locked } = this.options
    const find = attempt("looking for a snapshot", () => store.find(snapshotId))
    return Effect.gen({ self: this }, function* () {
      const present = yield* find
      if (present !== null) return capturedOf(present)
      // Of an earlier attempt.
      yield* attempt("removing an unfinished snapshot", () => store.removeUnfinished(snapshotId))
      const folder = new SandboxFolder(host.root, sandboxId)
      const bytes = (yield* sizeOf(folder)) + (withMemory ? yield* memoryRoom(folder) : 0)
      const running = live.get(sandboxId)
      // Here nothing waits for it. With memory, it is written out beside the save.
      if (running !== undefined && !running.stall && !withMemory) yield* Effect.promise(() => writeOut(running.machine))
      const partial = yield* attempt("making a snapshot", () => beginIn(store, snapshotId, withMemory))
      const copy = Effect.gen({ self: this }, function* () {
        const copied = Effect.tap(this.copied(folder, partial), ({ isShared, memory }) =>
          isShared && memory !== null ? this.noteShared(folder) : Effect.void
        )
        const { isShared, pausedMs, memory, settled } = yield* locked(sandboxId, copied)
        yield* attempt("writing a snapshot", async () => {
          await settled
          const sharedBytes = isShared ? ((await allocatedBytes(partial.image)) ?? 0) : 0
          const record = { pausedMs, sharedBytes, owner: null, ...(memory === null ? {} : { memory }) }
          await store.complete(snapshotId, partial.image, record, partial.memory)
        })
      })
      yield* room
        .copying(partial.image, bytes, copy)
        .pipe(Effect.tapError(() => Effect.promise(() => store.remove(snapshotId).catch(() => {}))))
      const made = yield* find
      return made === null
        ? yield* unavailable(`Snapshot ${snapshotId} was removed while it was made.`)
        : capturedOf(made)
    })
  }

  /**
   * With the locks of both. A repeated call makes the volume whole, with its record. Memory lies beside it until the next boot, which goes on with it or
   * removes it.
   */
  private restored(
    snapshotId: string,
    sandboxId: string,
    generation: number
  ): Effect.Effect<void, NoRoom | RuntimeRefused | RuntimeUnavailable> {
    const { host, store, room } = this.options
    const folder = new SandboxFolder(host.root, sandboxId)
    const image = folder.file("volume")
    return Effect.gen(function* () {
      const record = yield* attempt("reading a record", () => folder.read())
      if (record === null || !existsSync(image)) return yield* noVolume()
      if ((record.restoredAfter ?? -1) >= generation || record.generation > generation) return
      const origin = yield* attempt("looking for a snapshot", () => store.find(snapshotId))
      if (origin === null) {
        yield* Effect.logError(`${sandboxId} is not rolled back: snapshot ${snapshotId} is not in ${store.folder}`)
        return yield* snapshotMissing()
      }
      // One that sleeps has memory that fits no other volume.
      if (record.state !== "stopped" || processOf(record) !== null) {
        return yield* unavailable(`The machine of ${sandboxId} has not stopped.`)
      }
      yield* Effect.promise(() => letGo(image))
      const { memory } = origin
      const rootBytes =
        memory === null ? 0 : ((yield* attempt("measuring a snapshot", () => allocatedBytes(memory.rootDisk))) ?? 0)
      const grownBytes = Math.max(0, origin.volumeBytes - record.volumeBytes)
      const copy = attempt("replacing a volume", () => replaceVolume(folder, record, origin, { generation, rootBytes }))
      yield* room.copying(`${image}.partial`, origin.imageBytes + grownBytes + rootBytes, copy)
    })
  }

  /** With the machine's lock: it is neither started, ended nor removed meanwhile. */
  private copied(folder: SandboxFolder, partial: Partial): Effect.Effect<Copied, RuntimeRefused | RuntimeUnavailable> {
    const { live, host } = this.options
    const image = folder.file("volume")
    const copy = async () => {
      await rm(partial.image, { force: true })
      return copyImage(image, partial.image, PAUSE_MAX_MS)
    }
    return Effect.gen({ self: this }, function* () {
      yield* sizeOf(folder)
      // For a backup that reads it.
      yield* Effect.promise(() => letGo(image))
      const record = yield* attempt("reading a record", () => folder.read())
      if (record === null || processOf(record) === null) {
        if (partial.memory !== null && record?.state !== "suspended") return yield* noMemory
        const memory = record === null || partial.memory === null ? null : this.memoryOf(record, host.qemu.version)
        const isShared = yield* attempt("copying a volume", () => copyHeld(folder, partial, memory?.memoryBytes))
        return { isShared, pausedMs: 0, memory, settled: Promise.resolve() }
      }
      if (record.state !== "running" || !(yield* live.adopted(folder, record))) {
        return yield* unavailable("The Sandbox's machine is starting or does not answer.")
      }
      const running = live.get(record.sandboxId)!
      if (running.stall?.code === "HOST_FULL") return yield* noRoomForSnapshot()
      if (running.stall) return yield* RuntimeUnavailable.known(running.stall.message)
      const saved = partial.memory
      // What was written before the call is in it. `saveMemory` sees to that by itself.
      if (saved === null) yield* Effect.promise(() => writeOut(running.machine))
      const memory =
        saved === null
          ? null
          : this.memoryOf(record, yield* attempt("asking QEMU for its version", () => versionOf(running.machine)))
      const { result, pausedMs } = yield* Effect.tryPromise({
        try: () =>
          saved === null
            ? live.whileStill(folder, running, async () => ({ copied: await copy(), settled: Promise.resolve() }))
            : live.whileSaved(folder, running, (pauses) =>
                saveMemory(folder, running, saved, { pauses, copyVolume: copy })
              ),
        catch: (cause) =>
          cause instanceof CopyTooSlow ? tooSlow : unavailable(cause instanceof Error ? cause.message : String(cause))
      })
      return { isShared: result.copied, pausedMs, memory, settled: result.settled }
    })
  }

  /** A root disk that shares its blocks with a snapshot's may come to need each of them. With the machine's lock. */
  private noteShared(folder: SandboxFolder): Effect.Effect<void, RuntimeUnavailable> {
    const { live } = this.options
    return attempt("writing a record", async () => {
      const running = live.get(folder.sandboxId)
      const record = running?.record ?? (await folder.read())
      if (record === null) return
      const noted = { ...record, sharedRootBytes: (await allocatedBytes(folder.file("overlay"))) ?? 0 }
      await folder.write(noted)
      if (running !== undefined) running.record = noted
    })
  }

  private memoryOf(record: MachineRecord, qemuVersion: string): Required<SnapshotRecord>["memory"] {
    const { vcpus, memoryBytes } = record
    return { machine: machineKey(qemuVersion, this.options.shapeOf(record)), vcpus, memoryBytes }
  }
}

const beginIn = async (store: SnapshotStore, snapshotId: string, withMemory: boolean): Promise<Partial> => {
  const path = () => store.begin(snapshotId)
  if (!withMemory) return { image: await path(), memory: null }
  const [image, state, rootDisk] = await Promise.all([path(), path(), path()])
  return { image, memory: { state, rootDisk } }
}

/** How much its memory and its root disk may take. */
const memoryRoom = (folder: SandboxFolder): Effect.Effect<number, RuntimeUnavailable> =>
  attempt("measuring a machine", async () => {
    const record = await folder.read()
    return (record?.memoryBytes ?? 0) + ((await allocatedBytes(folder.file("overlay"))) ?? 0)
  })

const sizeOf = (folder: SandboxFolder): Effect.Effect<number, RuntimeRefused | RuntimeUnavailable> =>
  Effect.flatMap(
    attempt("measuring a volume", () => allocatedBytes(folder.file("volume"))),
    (bytes) => (bytes === null ? Effect.fail(noVolume()) : Effect.succeed(bytes))
  )

/**
 * Makes the volume of a machine that does not run that of a snapshot, with its memory beside it where it has one. Where this rejects, the volume is the one
 * that it was; memory of an earlier rollback may be gone.
 */
const replaceVolume = async (
  folder: SandboxFolder,
  record: MachineRecord,
  origin: StoredSnapshot,
  { generation, rootBytes }: { readonly generation: number; readonly rootBytes: number }
): Promise<void> => {
  const { memory } = origin
  // Memory that lies beside the volume fits no other one.
  if ((record.restoredMachine ?? null) !== null) await folder.write({ ...record, restoredMachine: null })
  const isShared =
    memory === null
      ? await copyVolume(origin.image, folder.file("volume"), record.uid)
      : await layDownFork(folder, origin.image, memory, record.uid)
  await flushed(folder.path)
  await folder.write({
    ...record,
    volumeBytes: Math.max(record.volumeBytes, origin.volumeBytes),
    sharedBytes: isShared ? origin.imageBytes : 0,
    sharedRootBytes: isShared ? rootBytes : 0,
    restoredAfter: generation,
    restoredMachine: memory?.machine ?? null
  })
  if (memory === null) await dropFork(folder)
}

/** Copies the files of a machine that does not run. Another process of this data folder starts none meanwhile. */
const copyHeld = async (folder: SandboxFolder, partial: Partial, memoryBytes = 0): Promise<boolean> => {
  const image = folder.file("volume")
  await hold(image)
  try {
    if (partial.memory !== null) await copySleeping(folder, partial.memory, memoryBytes)
    return await copyImage(image, partial.image)
  } finally {
    await release(image)
  }
}
