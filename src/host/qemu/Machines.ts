/**
 * All machines of this host, as the `Runtime` needs them: compares each request with the record, and delegates to `Starts`, `LiveMachines` and
 * `Endings`.
 *
 * Calls for one Sandbox run one after the other, across processes that use the same folder. Each call completes even when its caller gives up,
 * because half a boot is of no use.
 */
import { existsSync } from "node:fs"
import type { Duplex } from "node:stream"
import { Effect, Fiber, type Scope, Semaphore } from "effect"
import type { SettingsShape } from "../../Config.ts"
import { type Guest, GuestUnavailable } from "../../runtime/Guest.ts"
import type { InventoryEntry, RuntimeRefused, RuntimeUnavailable, SandboxSpec } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { allCgroupNames, releaseCgroups } from "../linux/cgroups.ts"
import { HostMutex, heldTooLong } from "../linux/HostMutex.ts"
import { HostUsers, sharedUsers } from "../linux/HostUsers.ts"
import { letGo } from "../linux/holdMark.ts"
import { hostFull } from "../linux/hostFull.ts"
import { SnapshotStore } from "../linux/SnapshotStore.ts"
import { volumeMissing } from "../linux/VolumeRegister.ts"
import { Endings } from "./Endings.ts"
import { growRunning, mustGrow } from "./growRunning.ts"
import { HostRoom } from "./HostRoom.ts"
import { instanceOf } from "./instanceOf.ts"
import { hasLostNetwork, type LiveMachine, LiveMachines, type News } from "./LiveMachines.ts"
import { connectRelay, killProcess, type Machine } from "./Machine.ts"
import { MachineImages, type MachineImagesOptions } from "./MachineImages.ts"
import { MachineSnapshots, type MachineSnapshotsOptions } from "./MachineSnapshots.ts"
import type { MachineShape } from "./machineArguments.ts"
import { removeMachineCgroups } from "./machineCgroups.ts"
import { entryOf, isUp } from "./machineEntry.ts"
import { hasSpareSizes, type QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import { refusingWithoutRoom } from "./roomRefusals.ts"
import { type MachineRecord, recordsIn, SandboxFolder, sandboxFolders } from "./SandboxFolder.ts"
import { SpareMachines, type SpareMachinesOptions } from "./SpareMachines.ts"
import { type MachineSpec, Starts } from "./Starts.ts"
import { memoryLost } from "./savedMemory.ts"
import { restoredIn, savedIn } from "./snapshotMemory.ts"
import { isOrphan, isSpare } from "./spareNames.ts"
import { Templates } from "./Templates.ts"
import { clockOf, watchClock } from "./watchClock.ts"

/** Number of user ids for machines, from `firstUid` on. */
const MACHINE_USERS = 10_000

/** A machine that does not answer takes the full time-out, so many are adopted concurrently. */
const ADOPTIONS_AT_ONCE = 32

/** Longer than a boot or wake by another process, also under emulation: only a frozen process is overruled. */
const OTHERS_TIMEOUT_MS = 120_000

const ofSandbox = refusingWithoutRoom("A Sandbox", hostFull)

export class Machines {
  private readonly host: QemuHost
  private readonly settings: SettingsShape
  private readonly turns: HostMutex
  private readonly users: HostUsers
  private readonly live: LiveMachines
  private readonly endings: Endings
  private readonly templates: Templates
  private readonly spares: SpareMachines
  private readonly starts: Starts
  private readonly room: HostRoom
  readonly snapshots: MachineSnapshots
  readonly images: MachineImages
  private readonly fork: SpareMachinesOptions["fork"]

  /** @param fork Runs an effect in the background. */
  constructor(
    host: QemuHost,
    settings: SettingsShape,
    news: News,
    { fork, run }: Pick<SpareMachinesOptions, "fork"> & Pick<MachineImagesOptions, "run">
  ) {
    this.host = host
    this.settings = settings
    this.fork = fork
    this.turns = new HostMutex({
      instance: instanceOf(host.root),
      patienceMs: OTHERS_TIMEOUT_MS,
      onImpatient: (sandboxId) => fork(Effect.logWarning(heldTooLong(sandboxId)))
    })
    const range = host.firstUid === null ? null : { first: host.firstUid, count: MACHINE_USERS }
    this.users = new HostUsers(host.root, range)
    const store = new SnapshotStore(host.root)
    const room = new HostRoom(host, settings, this.users, store)
    this.room = room
    const permits = Semaphore.makeUnsafe(settings.parallelStarts)
    this.live = new LiveMachines(host, news)
    this.endings = new Endings(host, this.live, room, this.users)
    this.templates = new Templates(host)
    const parts = { host, room, live: this.live, templates: this.templates, permits }
    const max = host.qemu.clones ? settings.vmSpares : 0
    this.spares = new SpareMachines({ ...parts, max, uids: this.users, endings: this.endings, fork })
    this.images = new MachineImages({ host, settings, room, turns: this.turns, run })
    this.starts = new Starts({ ...parts, settings, spares: this.spares, images: this.images })
    const locked: MachineSnapshotsOptions["locked"] = (key, effect) => this.locked(key, effect)
    const shapeOf: MachineSnapshotsOptions["shapeOf"] = ({ networkEnabled: network, ...record }) =>
      this.starts.shapeFor({ ...record, network }, record.accelerator)
    this.snapshots = new MachineSnapshots({ host, store, room, live: this.live, turns: this.turns, shapeOf, locked })
  }

  /** Cleans up after an earlier service. Succeeds with the work that may run in the background: `adopt`. */
  readonly settle: Effect.Effect<Effect.Effect<void>> = Effect.suspend(() =>
    Effect.gen({ self: this }, function* () {
      // Before the records: another process that starts a machine meanwhile writes its record before it makes its cgroup.
      const cgroups = allCgroupNames(this.host.cgroups)
      const folders = yield* Effect.promise(() => sandboxFolders(this.host.root))
      const known = yield* Effect.promise(() => recordsIn(folders))
      const shared = yield* Effect.promise(() => this.users.settle(known))
      if (shared.length > 0) yield* Effect.logWarning(sharedUsers(shared))
      // And once more: a spare that another process hands over meanwhile is found under neither name by one reading.
      const again = yield* Effect.promise(async () => recordsIn(await sandboxFolders(this.host.root)))
      const uuids = new Set([...known, ...again].map(({ uuid }) => uuid))
      const left = cgroups.filter((name) => !uuids.has(name))
      return Effect.andThen(
        Effect.all([this.endOrphans, this.adopt(folders), this.snapshots.tidy, this.images.tidy], {
          concurrency: "unbounded",
          discard: true
        }),
        attempt("removing cgroups that no machine has", () =>
          Promise.all(left.map((name) => removeMachineCgroups(this.host.cgroups, name)))
        ).pipe(Effect.catch(({ message }) => Effect.logWarning(message)))
      )
    })
  )

  /** Connects to every machine that outlived the service, and reports those that did not. A failure delays no other machine. */
  private adopt(folders: ReadonlyArray<SandboxFolder>): Effect.Effect<void> {
    return Effect.forEach(
      folders.filter(({ sandboxId }) => !isSpare(sandboxId)),
      (folder) =>
        this.locked(folder.sandboxId, this.live.adoptOrReport(folder)).pipe(
          Effect.catchDefect((defect) =>
            Effect.logError(`The machine of ${folder.sandboxId} could not be checked`, defect)
          )
        ),
      { concurrency: ADOPTIONS_AT_ONCE, discard: true }
    )
  }

  /** Ends the spares of processes that were killed, now or before this one. */
  readonly endOrphans: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const folders = yield* Effect.promise(() => sandboxFolders(this.host.root))
    // The process may have been killed when the spare had a user, and its folder not yet or no longer.
    const registered = yield* Effect.sync(() => this.users.registered())
    const names = new Set([...folders.map(({ sandboxId }) => sandboxId), ...registered.keys()])
    const orphans = [...names].filter((name) => isSpare(name) && isOrphan(name))
    yield* Effect.forEach(orphans, (name) => Effect.ignore(this.destroy(name)), { discard: true })
  })

  /** Our connections end; the machines run on, except for the spares. */
  readonly release: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      Effect.andThen(this.spares.close, Effect.andThen(Effect.ignoreCause(this.endOrphans), this.live.release)),
      // Removes only empty cgroups.
      Effect.promise(() => releaseCgroups(this.host.cgroups))
    )
  )

  /** Starts another slirp4netns for every machine whose own has died. */
  readonly mendNetworks: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(
      this.live.all().filter((live) => hasLostNetwork(live) && live.networkPause.isDue(performance.now())),
      (live) => {
        const { sandboxId } = live.record
        return this.locked(sandboxId, this.live.mendNetwork(this.folderOf(sandboxId), live))
      },
      { discard: true }
    )
  )

  /** Checks every machine. Returns immediately: a machine that does not answer delays no other. */
  readonly look: Effect.Effect<void> = Effect.sync(() => {
    for (const live of this.live.all()) {
      void this.live.look(live)
      if (live.isClockWatched) continue
      live.isClockWatched = true
      const { sandboxId } = live.record
      const isWanted = () => !live.expected && this.live.get(sandboxId) === live
      this.fork(watchClock(clockOf(sandboxId, live.machine, isWanted)))
    }
  })

  /** Pauses every machine whose volume a backup wants to read. Returns immediately. */
  readonly holdStill: Effect.Effect<void> = Effect.sync(() => {
    for (const live of this.live.all()) {
      const folder = this.folderOf(live.record.sandboxId)
      if (!this.turns.isHeldHere(folder.sandboxId) && this.live.isToBeHeld(folder, live)) {
        this.fork(this.locked(folder.sandboxId, this.live.holdStill(folder, live)))
      }
    }
  })

  /** Makes the template of a shape and a spare for the next Sandbox of that shape. */
  prepare(wanted: Omit<MachineShape, "accelerator">): Effect.Effect<void, RuntimeUnavailable> {
    const shape = this.starts.shapeFor(wanted)
    const refill = hasSpareSizes(this.settings, wanted) ? this.spares.refill(shape) : Effect.void
    return Effect.andThen(this.templates.of(shape), refill)
  }

  provision(spec: SandboxSpec, turn?: () => void): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    const folder = this.folderOf(spec.sandboxId)
    const bring = Effect.gen({ self: this }, function* () {
      const record = yield* readRecord(folder)
      if (record !== null && record.generation > spec.generation) return
      const same = record !== null && record.generation === spec.generation
      if (same && record.state === "running" && (yield* this.live.adopted(folder, record))) return
      // Waits for a process that reads the volume; that is short.
      yield* Effect.promise(() => letGo(folder.file("volume")))
      if (same && record.state === "waking") {
        if (yield* this.live.woken(folder, record)) return
        // A boot that no client asked for must never replace its memory. No client has seen more of a fork than its snapshot.
        if (record.isFork !== true) return yield* memoryLost
      }
      if (same && record.state === "suspended") {
        const left = processOf(record)
        if (left !== null) yield* killProcess(left)
        return yield* this.waken(folder, record, turn)
      }
      if (this.host.volumes.isMissing(spec.sandboxId, () => existsSync(folder.file("volume")))) {
        yield* Effect.logError(`Sandbox ${spec.sandboxId} does not start: its volume is missing`)
        return yield* volumeMissing()
      }
      const imageDigest = yield* this.images.present(spec)
      const rooted: MachineSpec = imageDigest === null ? spec : { ...spec, imageDigest }
      const restored = record === null ? null : yield* restoredIn(this.host, this.starts, folder, rooted, record)
      if (restored !== null) return yield* this.waken(folder, restored, turn)
      const origin = yield* this.snapshots.originOf(spec, record?.isFork === true)
      if (record !== null) yield* this.endings.end(folder, record)
      // A volume never shrinks, and a rollback may have made it larger.
      const volumeBytes = Math.max(spec.volumeBytes, origin?.volumeBytes ?? 0, record?.volumeBytes ?? 0)
      const own = { ...rooted, volumeBytes }
      const shape = this.starts.shapeFor({ ...own, network: spec.networkEnabled })
      const saved = origin === null ? null : yield* savedIn(this.host, this.starts, own, origin)
      if (saved !== null) return yield* this.waken(folder, yield* this.starts.layDown(folder, saved), turn)
      // A spare has the usual sizes, an empty volume and no image.
      const isUsual = spec.snapshotId === undefined && imageDigest === null && hasSpareSizes(this.settings, own)
      if (record !== null || !isUsual || !(yield* this.spares.take(folder, spec, shape)))
        yield* this.starts.boot(folder, own, origin, turn)
      if (isUsual) yield* this.spares.refill(shape)
    })
    return Effect.andThen(this.pulled(folder, spec), this.locked(spec.sandboxId, this.refused(folder, bring)))
  }

  /** Nothing is kept of a Sandbox whose first boot is refused. With the machine's lock. */
  private refused(
    folder: SandboxFolder,
    bring: Effect.Effect<void, RuntimeRefused | RuntimeUnavailable>
  ): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    return Effect.suspend(() => {
      const isNew = !existsSync(folder.path) && !this.host.volumes.isMissing(folder.sandboxId, () => false)
      const isRefused = (error: { readonly _tag: string }) => isNew && error._tag === "RuntimeRefused"
      const remove = Effect.ignore(this.endings.remove(folder))
      return Effect.tapError(ofSandbox(bring), (error) => (isRefused(error) ? remove : Effect.void))
    })
  }

  /** Before the machine's lock, so that no stop waits for a registry. A machine that runs or sleeps has its image. */
  private pulled(folder: SandboxFolder, spec: SandboxSpec): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    if (spec.image === undefined) return Effect.void
    return Effect.flatMap(readRecord(folder), (record) =>
      record !== null && record.generation >= spec.generation && isUp(record)
        ? Effect.void
        : Effect.asVoid(this.images.present(spec))
    )
  }

  /** Wakes it with its memory, or with that of its snapshot. */
  private waken(
    folder: SandboxFolder,
    record: MachineRecord,
    turn?: () => void
  ): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    return this.starts.wake(folder, record, turn).pipe(
      // Before the memory is resumed nothing is lost: the wake can be retried.
      Effect.catchTag("RuntimeUnavailable", (error) =>
        Effect.flatMap(readRecord(folder), (now) =>
          now?.state !== "waking" || now.isFork === true
            ? Effect.fail(error)
            : Effect.flatMap(this.live.woken(folder, now), (woken) => (woken ? Effect.void : memoryLost))
        )
      )
    )
  }

  /** A larger volume, while it runs. The next boot has the rest: memory and processors are fixed devices of a machine. */
  resize(sandboxId: string, generation: number, volumeBytes: number): Effect.Effect<void, RuntimeUnavailable> {
    const folder = this.folderOf(sandboxId)
    const grow = Effect.gen({ self: this }, function* () {
      const record = yield* readRecord(folder)
      if (record?.generation !== generation || record.state !== "running") return
      if (!mustGrow(folder, record, volumeBytes)) return
      if (!(yield* this.live.adopted(folder, record))) return
      yield* growRunning({ host: this.host, room: this.room }, folder, this.live.get(sandboxId)!, volumeBytes)
    })
    return this.locked(sandboxId, grow)
  }

  stop(sandboxId: string, generation: number): Effect.Effect<void, RuntimeUnavailable> {
    const folder = this.folderOf(sandboxId)
    const stop = Effect.gen({ self: this }, function* () {
      const record = yield* readRecord(folder)
      if (record === null || record.state === "stopped") return
      if (record.generation > generation && isUp(record)) return
      yield* this.endings.end(folder, record)
      yield* attempt("writing a record", () =>
        folder.write({ ...record, state: "stopped", process: null, network: null })
      )
    })
    return this.locked(sandboxId, stop)
  }

  destroy(sandboxId: string): Effect.Effect<void, RuntimeUnavailable> {
    return this.locked(sandboxId, this.endings.remove(this.folderOf(sandboxId)))
  }

  suspend(sandboxId: string, generation: number): Effect.Effect<void, RuntimeUnavailable> {
    const folder = this.folderOf(sandboxId)
    const suspend = Effect.gen({ self: this }, function* () {
      const record = yield* readRecord(folder)
      if (record?.generation !== generation) return yield* unavailable("That generation does not run here.")
      if (record.state !== "suspended") yield* this.endings.suspend(folder, record)
    })
    return this.locked(sandboxId, suspend)
  }

  readonly inventory: Effect.Effect<ReadonlyArray<InventoryEntry>, RuntimeUnavailable> = Effect.suspend(() =>
    attempt("looking for machines", async () => {
      const entries: Array<InventoryEntry> = []
      for (const folder of await sandboxFolders(this.host.root)) {
        const record = await folder.read()
        if (!isSpare(folder.sandboxId)) entries.push(entryOf(folder.sandboxId, record))
      }
      return entries
    })
  )

  guest(sandboxId: string, generation: number): Effect.Effect<Guest, GuestUnavailable> {
    return Effect.map(this.answering(sandboxId, generation), ({ guest }) => guest)
  }

  connect(sandboxId: string, generation: number): Effect.Effect<Duplex, GuestUnavailable, Scope.Scope> {
    return Effect.flatMap(this.answering(sandboxId, generation), connectRelay)
  }

  /** A machine of that generation that the host does not hold up. */
  private answering(sandboxId: string, generation: number): Effect.Effect<Machine, GuestUnavailable> {
    const found = this.live.get(sandboxId)
    if (found?.record.generation === generation && !found.expected) {
      return found.stall
        ? Effect.fail(new GuestUnavailable({ message: found.stall.message }))
        : Effect.succeed(found.machine)
    }
    return this.running(sandboxId, generation).pipe(
      Effect.map(({ machine }) => machine),
      Effect.mapError(({ message }) => new GuestUnavailable({ message }))
    )
  }

  /** The running machine of that generation, connected. */
  running(sandboxId: string, generation: number): Effect.Effect<LiveMachine, RuntimeUnavailable> {
    const found = this.live.get(sandboxId)
    if (found?.record.generation === generation && !found.expected) return Effect.succeed(found)
    const gone = unavailable("That generation of the Sandbox does not run here.")
    const folder = this.folderOf(sandboxId)
    const adopt = Effect.gen({ self: this }, function* () {
      const record = yield* readRecord(folder)
      if (record?.generation !== generation || record.state !== "running") return yield* gone
      const adopted = yield* this.live.adopted(folder, record)
      const live = this.live.get(sandboxId)
      if (!adopted || live?.record.generation !== generation) return yield* gone
      return live
    })
    return this.locked(sandboxId, adopt)
  }

  /** Every connected machine. */
  readonly all = (): ReadonlyArray<LiveMachine> => this.live.all()

  folderOf(sandboxId: string): SandboxFolder {
    return new SandboxFolder(this.host.root, sandboxId)
  }

  private locked<A, E>(sandboxId: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    const turn = Effect.acquireUseRelease(
      Effect.promise(() => this.turns.hold(sandboxId)),
      () => effect,
      (end) => Effect.sync(end)
    )
    return Effect.flatMap(Effect.forkDetach(turn), Fiber.join)
  }
}

const readRecord = (folder: SandboxFolder): Effect.Effect<MachineRecord | null, RuntimeUnavailable> =>
  attempt("reading a record", () => folder.read())
