/**
 * Every machine of this host: brings one up, down, to sleep and back, and finds again those that outlived the service.
 *
 * Calls for one Sandbox run one after the other, and each to its end, even when its caller gives up: half a boot helps nobody. What is written down (`SandboxFolder`) always
 * precedes what is done, so that whatever a crash leaves behind is found.
 */
import { randomUUID } from "node:crypto"
import { closeSync } from "node:fs"
import { access, chmod, chown, copyFile, rename, rm } from "node:fs/promises"
import { Effect, Fiber, Option, Queue, Semaphore } from "effect"
import type { SettingsShape } from "../../Config.ts"
import { type Guest, GuestUnavailable } from "../../runtime/Guest.ts"
import {
  type InventoryEntry,
  type RuntimeDown,
  RuntimeRefused,
  type RuntimeUnavailable,
  type SandboxSpec
} from "../../runtime/Runtime.ts"
import { type Held, heldBy, refusal } from "./Admission.ts"
import { attempt, unavailable } from "./attempt.ts"
import { hostnameOf } from "./BootPort.ts"
import { goneWithin, type Launched, launch, openLife } from "./launch.ts"
import { agentAnswers, connectMachine, disconnect, killProcess, loadState, type Machine, saveState } from "./Machine.ts"
import { type MachineShape, machineArguments, machineFiles, type Start } from "./machineArguments.ts"
import { connectNetwork, NAMESERVER } from "./Network.ts"
import { findByArgument, identify, isAlive, type ProcessIdentity, signal } from "./ProcessIdentity.ts"
import type { QemuHost } from "./QemuHost.ts"
import { type MachineRecord, SandboxFolder, sandboxFolders } from "./SandboxFolder.ts"
import { isSpare, type Spare, Spares, spareName } from "./Spares.ts"
import { buildTemplate, findTemplate, makeOverlay, type Template, templateKey, warm } from "./Template.ts"
import { Uids } from "./Uids.ts"
import { allocatedBytes, ensureVolume } from "./Volume.ts"

const IDENTITY_TIMEOUT_MS = 20_000
const AGENT_TIMEOUT_MS = 20_000
/** A guest that writes its last data and powers off; then it is killed, and its journal has what was synced. */
const HALT_TIMEOUT_MS = 15_000
const FLUSH_TIMEOUT_MS = 20_000
/** Commands that a machine runs before it is anybody's: by then most of what a first command needs is translated. */
const SPARE_WARM_RUNS = 4

interface Attached {
  readonly machine: Machine
  record: MachineRecord
  /** We are ending it, so its end is no news. */
  expected: boolean
}

type Unusable = RuntimeRefused | RuntimeUnavailable

export class Machines {
  readonly downs: Queue.Queue<RuntimeDown>
  private readonly host: QemuHost
  private readonly settings: SettingsShape
  private readonly uids: Uids
  private readonly starts: Semaphore.Semaphore
  private readonly admissions = Semaphore.makeUnsafe(1)
  private readonly locks = new Map<string, Semaphore.Semaphore>()
  private readonly attached = new Map<string, Attached>()
  private readonly templates = new Map<string, Effect.Effect<Template, RuntimeUnavailable>>()
  private readonly spares: Spares

  constructor(host: QemuHost, settings: SettingsShape, downs: Queue.Queue<RuntimeDown>) {
    this.host = host
    this.settings = settings
    this.downs = downs
    this.uids = new Uids(host.root, host.firstUid)
    this.starts = Semaphore.makeUnsafe(settings.parallelStarts)
    this.spares = new Spares({
      max: host.qemu.clones ? settings.vmSpares : 0,
      make: (shape) => this.makeSpare(shape),
      discard: ({ machine, record }) => this.discardSpare(machine, record)
    })
  }

  /** Connects to every machine that outlived the service, and reports those that did not. */
  readonly adoptAll: Effect.Effect<void> = Effect.suspend(() =>
    Effect.flatMap(
      Effect.promise(() => sandboxFolders(this.host.root)),
      (folders) =>
        Effect.forEach(
          folders,
          (folder) =>
            isSpare(folder.sandboxId)
              ? Effect.ignore(this.destroy(folder.sandboxId))
              : this.locked(folder.sandboxId, this.adoptOrReport(folder)),
          { concurrency: 8, discard: true }
        )
    )
  )

  /** Our connections end; the machines run on, but for those that are nobody's. */
  readonly release: Effect.Effect<void> = Effect.suspend(() =>
    Effect.andThen(
      this.spares.close,
      Effect.forEach(
        [...this.attached.values()],
        (attached) => {
          attached.expected = true
          return disconnect(attached.machine)
        },
        { discard: true }
      )
    )
  )

  /** Gives every machine whose way out of its network namespace has died another one. Until then it reaches nothing. */
  readonly mendNetworks: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(
      [...this.attached.values()].filter(hasLostNetwork),
      (attached) => this.locked(attached.record.sandboxId, this.mendNetwork(attached)),
      { discard: true }
    )
  )

  /** Has a machine of this shape ready for the next Sandbox that wants one. */
  prepareSpare(shape: MachineShape): Effect.Effect<void> {
    return this.spares.refill(shape)
  }

  provision(spec: SandboxSpec): Effect.Effect<void, Unusable> {
    const folder = new SandboxFolder(this.host.root, spec.sandboxId)
    const bring = Effect.gen({ self: this }, function* () {
      const record = yield* attempt("reading a record", () => folder.read())
      if (record !== null && record.generation > spec.generation) return
      const same = record !== null && record.generation === spec.generation
      if (same && record.state === "running" && (yield* this.adopted(folder, record))) return
      if (same && record.state === "suspended") {
        const woken = yield* this.wake(folder, record).pipe(
          Effect.as(true),
          Effect.catchTag("RuntimeUnavailable", ({ message }) =>
            Effect.as(Effect.logWarning(`Sandbox ${spec.sandboxId} cannot be woken and boots anew: ${message}`), false)
          )
        )
        if (woken) return
      }
      if (record !== null) yield* this.end(folder, record)
      const shape = this.shapeFor({ ...spec, network: spec.networkEnabled })
      if (record !== null || !(yield* this.takeSpare(folder, spec, shape))) yield* this.boot(folder, spec)
      yield* this.spares.refill(shape)
    })
    return this.locked(spec.sandboxId, bring)
  }

  stop(sandboxId: string): Effect.Effect<void, RuntimeUnavailable> {
    const folder = new SandboxFolder(this.host.root, sandboxId)
    return this.locked(
      sandboxId,
      Effect.gen({ self: this }, function* () {
        const record = yield* attempt("reading a record", () => folder.read())
        if (record === null || record.state === "stopped") return
        yield* this.end(folder, record)
        yield* this.note(folder, { ...record, state: "stopped", process: null, network: null })
      })
    )
  }

  destroy(sandboxId: string): Effect.Effect<void, RuntimeUnavailable> {
    const folder = new SandboxFolder(this.host.root, sandboxId)
    return this.locked(
      sandboxId,
      Effect.gen({ self: this }, function* () {
        const record = yield* attempt("reading a record", () => folder.read())
        if (record !== null) yield* this.kill(record)
        yield* attempt("removing a Sandbox", async () => {
          await folder.remove()
          await this.uids.release(record?.uid ?? null, sandboxId)
        })
      })
    )
  }

  suspend(sandboxId: string, generation: number): Effect.Effect<void, RuntimeUnavailable> {
    const folder = new SandboxFolder(this.host.root, sandboxId)
    return this.locked(
      sandboxId,
      Effect.gen({ self: this }, function* () {
        const record = yield* attempt("reading a record", () => folder.read())
        if (record?.generation !== generation) return yield* unavailable("That generation does not run here.")
        if (record.state === "suspended") return
        if (!(yield* this.adopted(folder, record))) return yield* unavailable("That generation does not run here.")
        const attached = this.attached.get(sandboxId)!
        const { machine } = attached
        // A sleeping machine that is then stopped loses its memory, but nothing that was written.
        yield* attempt("flushing a volume", () => machine.boot.flush(FLUSH_TIMEOUT_MS))
        machine.session.close()
        yield* attempt("pausing a machine", async () => {
          await folder.makeEmpty("suspended", record.uid)
          await machine.qmp.execute("stop")
        })
        yield* saveState(machine, machineFiles.suspended, { memoryIsShared: false }).pipe(
          Effect.tapError(() => attempt("resuming a machine", () => machine.qmp.execute("cont")).pipe(Effect.ignore))
        )
        attached.expected = true
        yield* this.note(folder, { ...record, state: "suspended" })
        yield* this.kill(record)
        yield* this.note(folder, { ...record, state: "suspended", process: null, network: null })
      })
    )
  }

  readonly inventory: Effect.Effect<ReadonlyArray<InventoryEntry>, RuntimeUnavailable> = Effect.suspend(() =>
    attempt("looking for machines", async () => {
      const entries: Array<InventoryEntry> = []
      for (const folder of await sandboxFolders(this.host.root)) {
        const record = await folder.read()
        const { sandboxId } = folder
        if (isSpare(sandboxId)) continue
        if (record === null) entries.push({ sandboxId, state: "volume", generation: null })
        else if (record.state === "suspended")
          entries.push({ sandboxId, state: "suspended", generation: record.generation })
        else if (processOf(record) !== null)
          entries.push({ sandboxId, state: "running", generation: record.generation })
        else entries.push({ sandboxId, state: "volume", generation: null })
      }
      return entries
    })
  )

  guest(sandboxId: string, generation: number): Effect.Effect<Guest, GuestUnavailable> {
    const found = this.attached.get(sandboxId)
    if (found?.record.generation === generation && !found.expected) return Effect.succeed(found.machine.guest)
    return this.running(sandboxId, generation).pipe(
      Effect.map(({ machine }) => machine.guest),
      Effect.mapError(({ message }) => new GuestUnavailable({ message }))
    )
  }

  /** The machine of a generation that runs here, connected to. */
  running(sandboxId: string, generation: number): Effect.Effect<Attached, RuntimeUnavailable> {
    const found = this.attached.get(sandboxId)
    if (found?.record.generation === generation && !found.expected) return Effect.succeed(found)
    const gone = unavailable("That generation of the Sandbox does not run here.")
    const folder = new SandboxFolder(this.host.root, sandboxId)
    return Effect.gen({ self: this }, function* () {
      const record = yield* attempt("reading a record", () => folder.read())
      if (record?.generation !== generation || record.state !== "running") return yield* gone
      const adopted = yield* this.locked(sandboxId, this.adopted(folder, record))
      const attached = this.attached.get(sandboxId)
      if (!adopted || attached?.record.generation !== generation) return yield* gone
      return attached
    })
  }

  /** Every machine that we are connected to. */
  readonly all = (): ReadonlyArray<MachineRecord> => [...this.attached.values()].map(({ record }) => record)

  folderOf(sandboxId: string): SandboxFolder {
    return new SandboxFolder(this.host.root, sandboxId)
  }

  /** Makes the template of a shape ready, once however many ask. A failure is told to those who wait, and the next one tries again. */
  template(shape: MachineShape): Effect.Effect<Template, RuntimeUnavailable> {
    const key = templateKey(this.host, shape)
    return Effect.suspend(() => {
      const known = this.templates.get(key)
      if (known !== undefined) return known
      const made = attempt("looking for a template", () => findTemplate(this.host, key)).pipe(
        Effect.flatMap((found) => (found === null ? buildTemplate(this.host, shape) : Effect.succeed(found))),
        Effect.tapError(() => Effect.sync(() => this.templates.delete(key)))
      )
      return Effect.flatMap(Effect.cached(made), (cached) => {
        const raced = this.templates.get(key)
        if (raced !== undefined) return raced
        this.templates.set(key, cached)
        return cached
      })
    })
  }

  /** The devices of a machine as this host can make it. */
  shapeFor(wanted: Omit<MachineShape, "accelerator">, accelerator = this.host.choice.accelerator): MachineShape {
    const { vcpus, memoryBytes, volumeBytes, network } = wanted
    return { accelerator, vcpus, memoryBytes, volumeBytes, network: network && this.host.networkObstacle === null }
  }

  private locked<A, E>(sandboxId: string, effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const lock = this.locks.get(sandboxId) ?? Semaphore.makeUnsafe(1)
      this.locks.set(sandboxId, lock)
      return Effect.flatMap(Effect.forkDetach(lock.withPermits(1)(effect)), Fiber.join)
    })
  }

  private note(folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    return attempt("writing a record", () => folder.write(record))
  }

  /** True when that machine runs and we are connected to it. */
  private adopted(folder: SandboxFolder, record: MachineRecord): Effect.Effect<boolean> {
    const { process } = record
    if (process === null || !isAlive(process)) return Effect.succeed(false)
    const known = this.attached.get(record.sandboxId)
    if (known !== undefined && known.machine.process.pid === process.pid && !known.expected) return Effect.succeed(true)
    return connectMachine(folder, process).pipe(
      Effect.tap((machine) => Effect.sync(() => this.attach(record, machine))),
      Effect.as(true),
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.as(Effect.logWarning(`Sandbox ${record.sandboxId} runs and does not answer: ${message}`), false)
      )
    )
  }

  private adoptOrReport(folder: SandboxFolder): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const record = yield* Effect.promise(() => folder.read())
      if (record === null || record.state !== "running") return
      if (yield* this.adopted(folder, record)) return
      if (record.process !== null && isAlive(record.process)) return
      this.report(record, "CRASHED", "The machine ended while the service was not running.")
    })
  }

  private attach(record: MachineRecord, machine: Machine): void {
    const attached: Attached = { machine, record, expected: false }
    this.attached.set(record.sandboxId, attached)
    void machine.qmp.closed.then(() => this.ended(attached))
  }

  /** QEMU closed its control socket: it is gone, or as good as. */
  private async ended(attached: Attached): Promise<void> {
    const { record, machine } = attached
    if (this.attached.get(record.sandboxId) === attached) this.attached.delete(record.sandboxId)
    machine.boot.close()
    if (attached.expected) return
    // A QEMU that lost its control socket and lives cannot be managed any more.
    if (!(await goneWithin(() => isAlive(machine.process), 1_000))) signal(machine.process, "SIGKILL")
    await goneWithin(() => isAlive(machine.process), 5_000)
    if (attached.expected) return
    if (machine.qmp.shutdownReason === "guest-shutdown")
      this.report(record, "EXITED", "The machine powered itself off.")
    else if (machine.qmp.shutdownReason?.startsWith("guest-") === true) {
      this.report(record, "CRASHED", "The machine's kernel panicked or reset.")
    } else this.report(record, "CRASHED", "The machine's process was killed or crashed.")
  }

  private report(record: MachineRecord, code: "EXITED" | "CRASHED", message: string): void {
    const { sandboxId, generation } = record
    Queue.offerUnsafe(this.downs, { type: "down", sandboxId, generation, reason: { code, message } })
  }

  /** Ends what runs, letting it write its data first; what sleeps is dropped. */
  private end(folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      if (record.state === "running" && (yield* this.adopted(folder, record))) {
        const attached = this.attached.get(record.sandboxId)!
        attached.expected = true
        attached.machine.boot.halt()
        yield* Effect.promise(() => goneWithin(() => isAlive(attached.machine.process), HALT_TIMEOUT_MS))
      }
      yield* this.kill(record)
      yield* attempt("removing a boot's files", async () => {
        await rm(folder.file("suspended"), { force: true })
        await rm(folder.file("overlay"), { force: true })
      })
    })
  }

  /** Ends at once whatever of this record runs. */
  private kill(record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const attached = this.attached.get(record.sandboxId)
      if (attached !== undefined) {
        attached.expected = true
        this.attached.delete(record.sandboxId)
        yield* disconnect(attached.machine)
      }
      const process = processOf(record)
      if (process !== null) yield* killProcess(process)
      // It ends by itself when QEMU has; this is for one that does not.
      if (record.network !== null) signal(record.network, "SIGKILL")
    })
  }

  /** Every volume and machine but this Sandbox's own. */
  private held(but: string): Effect.Effect<ReadonlyArray<Held>, RuntimeUnavailable> {
    return attempt("counting machines", async () => {
      const held: Array<Held> = []
      for (const folder of await sandboxFolders(this.host.root)) {
        if (folder.sandboxId === but) continue
        const record = await folder.read()
        if (record === null) continue
        const runs = record.state === "starting" || processOf(record) !== null
        held.push(heldBy(record, runs, (await allocatedBytes(folder.file("volume"))) ?? 0))
      }
      return held
    })
  }

  /** A Sandbox's need goes before that of machines that are nobody's. */
  private withRoom<A>(start: Effect.Effect<A, Unusable>): Effect.Effect<A, Unusable> {
    return Effect.catchTag(start, "RuntimeRefused", (refused) =>
      Effect.flatMap(this.spares.drop, (madeRoom) => (madeRoom ? start : Effect.fail(refused)))
    )
  }

  /** Refuses, or writes down that this machine is being started. One at a time: two must not both take the last room. */
  private admit(folder: SandboxFolder, record: Omit<MachineRecord, "uid">): Effect.Effect<MachineRecord, Unusable> {
    return this.admissions.withPermits(1)(
      Effect.gen({ self: this }, function* () {
        const known = yield* attempt("reading a record", () => folder.read())
        const newVolume = (yield* attempt("looking for a volume", () => allocatedBytes(folder.file("volume")))) === null
        const refused = yield* Effect.flatMap(this.held(record.sandboxId), (held) =>
          attempt("measuring the host", () =>
            refusal(
              { ...record, newVolume },
              held,
              { memoryBytes: this.settings.vmMemoryBytes, diskReserveBytes: this.settings.vmDiskReserveBytes },
              this.host.root
            )
          )
        )
        if (refused !== null) return yield* refused
        return yield* attempt("preparing a machine", async () => {
          // The volume is its user's.
          const uid = known === null ? await this.uids.take(record.sandboxId) : known.uid
          await folder.prepare(uid)
          const admitted = { ...record, uid }
          await folder.write(admitted)
          return admitted
        })
      })
    )
  }

  private boot(folder: SandboxFolder, spec: SandboxSpec): Effect.Effect<void, Unusable> {
    const { accelerator } = this.host.choice
    const shape = this.shapeFor({ ...spec, network: spec.networkEnabled })
    return Effect.gen({ self: this }, function* () {
      const { sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled } = spec
      const record = yield* this.withRoom(
        this.admit(folder, {
          ...{ sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled, accelerator },
          ...{ state: "starting", uuid: randomUUID(), process: null, network: null }
        })
      )
      const template = this.host.qemu.clones
        ? yield* this.template(shape).pipe(
            Effect.catchTag("RuntimeUnavailable", ({ message }) =>
              Effect.as(Effect.logWarning(`There is no template, so Sandboxes boot in full: ${message}`), null)
            )
          )
        : null
      yield* attempt("making a volume", async () => {
        await ensureVolume(folder.file("volume"), volumeBytes, record.uid)
        await folder.makeEmpty("console", record.uid)
      })
      if (template !== null) {
        const cloned = yield* this.clone(folder, record, shape, template).pipe(
          Effect.as(true),
          Effect.catchTag("RuntimeUnavailable", ({ message }) =>
            Effect.as(
              Effect.logWarning(`Sandbox ${sandboxId} did not start from its template and boots in full: ${message}`),
              false
            )
          )
        )
        if (cloned) return
      }
      yield* this.coldBoot(folder, record, shape)
    }).pipe(
      this.starts.withPermits(1),
      // Nothing runs, so nothing may be counted as starting.
      Effect.tapError(() =>
        Effect.flatMap(
          Effect.promise(() => folder.read()),
          (record) =>
            record === null || record.generation !== spec.generation
              ? Effect.void
              : Effect.ignore(this.note(folder, { ...record, state: "stopped", process: null, network: null }))
        )
      )
    )
  }

  private clone(folder: SandboxFolder, record: MachineRecord, shape: MachineShape, template: Template) {
    const start: Start = { type: "clone", memoryFile: template.memoryFile }
    return Effect.andThen(
      attempt("making a root disk", () => copyRootDisk(template.rootDisk, folder.file("overlay"), record.uid)),
      this.launched(folder, record, shape, start, (machine) =>
        Effect.andThen(
          loadState(machine, template.stateFile, { memoryIsShared: true }),
          this.becomeItself(machine, record, shape)
        )
      )
    )
  }

  private coldBoot(folder: SandboxFolder, record: MachineRecord, shape: MachineShape) {
    const { image } = this.host
    const start: Start = { type: "boot", kernel: image.kernel, initramfs: image.initramfs, memoryFile: null }
    const makeRoot = async () => {
      const path = folder.file("overlay")
      await rm(path, { force: true })
      await makeOverlay(path, { path: image.rootDisk, format: "raw", bytes: image.rootBytes })
      if (record.uid !== null) await chown(path, record.uid, record.uid)
    }
    return Effect.andThen(
      attempt("making a root disk", makeRoot),
      this.launched(folder, record, shape, start, (machine) =>
        Effect.andThen(agentAnswers(machine, this.settings.bootTimeoutMs), this.becomeItself(machine, record, shape))
      )
    )
  }

  private wake(folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, Unusable> {
    const shape = this.shapeFor({ ...record, network: record.networkEnabled }, record.accelerator)
    return Effect.gen({ self: this }, function* () {
      yield* this.withRoom(
        Effect.gen({ self: this }, function* () {
          const held = yield* this.held(record.sandboxId)
          const limits = {
            memoryBytes: this.settings.vmMemoryBytes,
            diskReserveBytes: this.settings.vmDiskReserveBytes
          }
          const refused = yield* attempt("measuring the host", () =>
            refusal({ ...record, newVolume: false }, held, limits, this.host.root)
          )
          if (refused !== null) return yield* refused
        })
      )
      yield* attempt("preparing a machine", async () => {
        await access(folder.file("suspended"))
        await folder.prepare(record.uid)
      })
      const note = (it: MachineRecord) => this.note(folder, it)
      yield* this.launched(folder, record, shape, { type: "wake" }, (machine) =>
        Effect.gen(function* () {
          yield* loadState(machine, machineFiles.suspended, { memoryIsShared: false })
          // From here on the volume moves on, and the saved memory must never meet it again.
          yield* note({ ...record, state: "starting", process: machine.process })
          yield* attempt("resuming a machine", () => machine.qmp.execute("cont"))
          yield* Effect.all(
            [
              attempt("setting a machine's clock", () => machine.boot.clock(IDENTITY_TIMEOUT_MS)),
              agentAnswers(machine, AGENT_TIMEOUT_MS)
            ],
            { concurrency: 2, discard: true }
          )
        })
      )
      yield* attempt("removing a saved state", () => rm(folder.file("suspended"), { force: true }))
    }).pipe(this.starts.withPermits(1))
  }

  /** Runs QEMU, connects it, lets `prepare` bring the guest up, and only then counts it as running. Leaves nothing behind if that fails. */
  private launched(
    folder: SandboxFolder,
    record: MachineRecord,
    shape: MachineShape,
    start: Start,
    prepare: (machine: Machine) => Effect.Effect<void, RuntimeUnavailable>
  ): Effect.Effect<void, RuntimeUnavailable> {
    return this.connected(folder, record, shape, start, (machine, started) =>
      Effect.andThen(prepare(machine), this.counted(folder, started, machine))
    )
  }

  private counted(folder: SandboxFolder, started: MachineRecord, machine: Machine) {
    const running: MachineRecord = { ...started, state: "running" }
    return Effect.tap(this.note(folder, running), () => Effect.sync(() => this.attach(running, machine)))
  }

  /** Runs QEMU and connects it; what it started is gone if `use` fails. */
  private connected<A>(
    folder: SandboxFolder,
    record: MachineRecord,
    shape: MachineShape,
    start: Start,
    use: (machine: Machine, started: MachineRecord) => Effect.Effect<A, RuntimeUnavailable>
  ): Effect.Effect<A, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const launched = yield* attempt("starting QEMU", () =>
        launch({
          binary: this.host.qemu.binary,
          arguments: machineArguments(shape, { uuid: record.uuid, start }),
          folder: folder.path,
          uid: record.uid,
          accelerator: shape.accelerator,
          life: shape.network
        })
      )
      const bring = Effect.gen({ self: this }, function* () {
        const [network, machine] = yield* Effect.all(
          [this.network(launched), connectMachine(folder, launched.process)],
          { concurrency: 2 }
        )
        const started = { ...record, process: launched.process, network }
        // A sleeping machine's record stays as it is until it is awake: its saved state is all there is of it.
        if (record.state === "starting") yield* this.note(folder, started)
        return yield* use(machine, started)
      })
      const diedEarly = Effect.flatMap(
        Effect.promise(() => launched.ended),
        (said) => Effect.fail(unavailable(`QEMU ended while the machine was starting: ${said}`))
      )
      return yield* Effect.raceFirst(bring, diedEarly).pipe(
        Effect.tapError(() => Effect.ignore(killProcess(launched.process)))
      )
    })
  }

  private mendNetwork(attached: Attached): Effect.Effect<void> {
    const { record, machine } = attached
    return Effect.gen({ self: this }, function* () {
      if (this.attached.get(record.sandboxId) !== attached || !hasLostNetwork(attached)) return
      const lifeFd = yield* attempt("finding a machine's life pipe", () => openLife(machine.process))
      const network = yield* this.network({ process: machine.process, lifeFd })
      attached.record = { ...record, network }
      yield* this.note(this.folderOf(record.sandboxId), attached.record)
      yield* Effect.logWarning(`The network of Sandbox ${record.sandboxId} had died and was started anew.`)
    }).pipe(
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.logWarning(`The network of Sandbox ${record.sandboxId} has died: ${message}`)
      )
    )
  }

  private network({
    process,
    lifeFd
  }: Pick<Launched, "process" | "lifeFd">): Effect.Effect<ProcessIdentity | null, RuntimeUnavailable> {
    if (lifeFd === null) return Effect.succeed(null)
    return attempt("connecting a machine's network", () => connectNetwork(process.pid, lifeFd)).pipe(
      Effect.map(identify),
      Effect.ensuring(Effect.sync(() => closeSync(lifeFd)))
    )
  }

  /** Clock, names, entropy, network, volume, generation: what no clone may share with another. */
  private becomeItself(
    machine: Machine,
    record: MachineRecord,
    shape: MachineShape
  ): Effect.Effect<void, RuntimeUnavailable> {
    const identity = { hostname: hostnameOf(record.sandboxId), nameserver: shape.network ? NAMESERVER : null }
    return Effect.andThen(
      attempt("starting a machine's processors", () => machine.qmp.execute("cont")),
      Effect.all(
        [
          attempt("giving a machine its identity", () => machine.boot.identity(identity, IDENTITY_TIMEOUT_MS)),
          giveGeneration(machine, record.generation)
        ],
        { concurrency: 2, discard: true }
      )
    )
  }

  private makeSpare(shape: MachineShape): Effect.Effect<Spare, Unusable> {
    const { accelerator, vcpus, memoryBytes, volumeBytes, network } = shape
    const sandboxId = spareName(randomUUID())
    const folder = new SandboxFolder(this.host.root, sandboxId)
    return Effect.gen({ self: this }, function* () {
      const record = yield* this.admit(folder, {
        ...{ sandboxId, generation: 0, vcpus, memoryBytes, volumeBytes, networkEnabled: network, accelerator },
        ...{ state: "starting", uuid: randomUUID(), process: null, network: null }
      })
      const template = yield* this.template(shape)
      yield* attempt("making a machine's disks", async () => {
        await ensureVolume(folder.file("volume"), volumeBytes, record.uid)
        await folder.makeEmpty("console", record.uid)
        await copyRootDisk(template.rootDisk, folder.file("overlay"), record.uid)
      })
      const start: Start = { type: "clone", memoryFile: template.memoryFile }
      const identity = { hostname: "sandbox", nameserver: network ? NAMESERVER : null }
      return yield* this.connected(folder, record, shape, start, (machine, started) =>
        Effect.gen(function* () {
          yield* loadState(machine, template.stateFile, { memoryIsShared: true })
          yield* attempt("starting a machine's processors", () => machine.qmp.execute("cont"))
          yield* attempt("giving a machine its identity", () => machine.boot.identity(identity, IDENTITY_TIMEOUT_MS))
          yield* warm(machine.guest, SPARE_WARM_RUNS)
          yield* attempt("warming a machine", () => machine.boot.name(identity.hostname, IDENTITY_TIMEOUT_MS))
          yield* attempt("pausing a machine", () => machine.qmp.execute("stop"))
          return { machine, record: started }
        })
      )
    }).pipe(
      Effect.tapError(() => Effect.ignore(this.destroy(sandboxId))),
      // Sandboxes that start go first.
      this.starts.withPermitsIfAvailable(1),
      Effect.flatMap(
        Option.match({
          onNone: () => new RuntimeRefused({ code: "HOST_FULL", message: "As many Sandboxes are starting as may." }),
          onSome: Effect.succeed
        })
      )
    )
  }

  private discardSpare(machine: Machine, record: MachineRecord): Effect.Effect<void> {
    return Effect.andThen(disconnect(machine), Effect.ignore(this.destroy(record.sandboxId)))
  }

  /** Makes a spare this Sandbox's machine, by giving it the rest of its identity. False when there is none, or it was of no use. */
  private takeSpare(
    folder: SandboxFolder,
    spec: SandboxSpec,
    shape: MachineShape
  ): Effect.Effect<boolean, RuntimeUnavailable> {
    const { sandboxId, generation, networkEnabled } = spec
    return Effect.gen({ self: this }, function* () {
      const spare = yield* this.spares.claim(shape)
      if (spare === null) return false
      const { machine } = spare
      const record: MachineRecord = { ...spare.record, sandboxId, generation, networkEnabled }
      const before = new SandboxFolder(this.host.root, spare.record.sandboxId)
      const moved = yield* attempt("handing a machine over", async () => {
        await this.uids.pass(record.uid, sandboxId)
        // Written first: wherever this is cut off, the folder tells what runs in it.
        await before.write(record)
        await rename(before.path, folder.path)
      }).pipe(
        Effect.as(true),
        Effect.catchTag("RuntimeUnavailable", ({ message }) => Effect.as(Effect.logWarning(message), false))
      )
      if (!moved) {
        yield* this.discardSpare(machine, spare.record)
        return false
      }
      return yield* attempt("starting a machine's processors", () => machine.qmp.execute("cont")).pipe(
        Effect.andThen(
          Effect.all(
            [
              attempt("naming a machine", () => machine.boot.name(hostnameOf(sandboxId), IDENTITY_TIMEOUT_MS)),
              giveGeneration(machine, generation)
            ],
            { concurrency: 2, discard: true }
          )
        ),
        Effect.andThen(this.counted(folder, record, machine)),
        Effect.as(true),
        Effect.catchTag("RuntimeUnavailable", ({ message }) =>
          Effect.gen({ self: this }, function* () {
            yield* Effect.logWarning(`Sandbox ${sandboxId} got a machine that was of no use: ${message}`)
            yield* disconnect(machine)
            yield* this.kill(record)
            return false
          })
        )
      )
    })
  }
}

const giveGeneration = (machine: Machine, generation: number): Effect.Effect<void, RuntimeUnavailable> =>
  machine.session.call("POST", "/v1/identity", { generation }).pipe(
    Effect.mapError(({ message }) => unavailable(message)),
    Effect.filterOrFail(
      ({ status }) => status === 200,
      ({ status }) => unavailable(`The guest's agent refused its generation with status ${status}.`)
    ),
    Effect.asVoid
  )

const hasLostNetwork = ({ record, expected }: Attached): boolean =>
  !expected && record.network !== null && !isAlive(record.network)

/** The QEMU process of a record that runs, also when the service was killed before it wrote the pid down. */
const processOf = (record: MachineRecord): ProcessIdentity | null => {
  if (record.process !== null) return isAlive(record.process) ? record.process : null
  return record.state === "starting" || record.state === "suspended" ? findByArgument(record.uuid) : null
}

const copyRootDisk = async (from: string, to: string, uid: number | null): Promise<void> => {
  await copyFile(from, to)
  await chmod(to, 0o600)
  if (uid !== null) await chown(to, uid, uid)
}
