/**
 * Starts machines: from their template, from the kernel, or from their saved memory.
 *
 * Every step is recorded (`SandboxFolder`) before it is taken, so that the next service finds everything a crash leaves behind.
 */
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { access, chown, rm } from "node:fs/promises"
import { Effect, type Semaphore } from "effect"
import type { SettingsShape } from "../../Config.ts"
import type { RuntimeRefused, RuntimeUnavailable, SandboxSpec } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import { copyVolume } from "../linux/imageCopy.ts"
import type { StoredMemory, StoredSnapshot } from "../linux/SnapshotStore.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { layDownFork } from "./forkedMemory.ts"
import type { HostRoom } from "./HostRoom.ts"
import { giveIdentity, giveOwnIdentity, IDENTITY_TIMEOUT_MS } from "./identity.ts"
import type { LiveMachines } from "./LiveMachines.ts"
import { agentAnswers, agentConnects, loadState, type Machine } from "./Machine.ts"
import type { MachineImages } from "./MachineImages.ts"
import { type MachineShape, machineFiles, type Start } from "./machineArguments.ts"
import type { QemuHost } from "./QemuHost.ts"
import { runMachine } from "./runMachine.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"
import type { SpareMachines } from "./SpareMachines.ts"
import { mappableIn, wakeFrom } from "./savedMemory.ts"
import { dropSavedState } from "./standstill.ts"
import { copyRootDisk, makeOverlay, type Template } from "./Template.ts"
import type { Templates } from "./Templates.ts"
import { ensureVolume } from "./volume.ts"

const AGENT_TIMEOUT_MS = 20_000

export interface StartsOptions {
  readonly host: QemuHost
  readonly settings: SettingsShape
  readonly room: HostRoom
  readonly templates: Templates
  readonly spares: SpareMachines
  readonly live: LiveMachines
  readonly images: MachineImages
  /** Bounds concurrent starts. */
  readonly permits: Semaphore.Semaphore
}

/** What is to be started, with the image that is here for it. */
export interface MachineSpec extends SandboxSpec {
  readonly imageDigest?: string
}

/** A machine that is to go on with the memory of a snapshot. */
export interface Fork {
  readonly spec: MachineSpec
  readonly origin: StoredSnapshot
  readonly memory: StoredMemory
}

export class Starts {
  private readonly options: StartsOptions

  constructor(options: StartsOptions) {
    this.options = options
  }

  /** The machine's devices, adapted to what this host supports. */
  shapeFor(
    wanted: Omit<MachineShape, "accelerator">,
    accelerator = this.options.host.choice.accelerator
  ): MachineShape {
    const { memoryBytes, volumeBytes, network, imageDigest } = wanted
    const vcpus = Math.ceil(wanted.vcpus)
    const { networkObstacle } = this.options.host
    return {
      ...{ accelerator, vcpus, memoryBytes, volumeBytes, network: network && networkObstacle === null },
      ...imageOf(imageDigest)
    }
  }

  /**
   * Boots a machine for the first time or again: as a clone of the template where there is one. There is none for a machine with an image. `origin`: its volume becomes a copy
   * of that.
   */
  boot(
    folder: SandboxFolder,
    spec: MachineSpec,
    origin: StoredSnapshot | null,
    turn?: () => void
  ): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    const { host, room, templates, spares, images, permits } = this.options
    const { accelerator } = host.choice
    const shape = this.shapeFor({ ...spec, network: spec.networkEnabled })
    return Effect.gen({ self: this }, function* () {
      turn?.()
      const { sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled } = spec
      // Until it is known that the volume shares no block, it may share all.
      const shared = origin === null ? {} : { sharedBytes: origin.imageBytes }
      let record = yield* spares.givingWay(
        room.admit({
          ...{ sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled, accelerator, ...shared },
          ...imageOf(spec.imageDigest),
          ...{ isFork: false, state: "starting", uuid: randomUUID(), process: null, network: null }
        })
      )
      yield* images.link(folder, spec.imageDigest)
      const template =
        host.qemu.clones && spec.imageDigest === undefined
          ? yield* templates
              .forBoot(shape)
              .pipe(
                Effect.catchTag("RuntimeUnavailable", ({ message }) =>
                  Effect.as(Effect.logWarning(`There is no template, so Sandboxes boot in full: ${message}`), null)
                )
              )
          : null
      if (origin !== null) {
        const path = folder.file("volume")
        const { uid } = record
        if (!(yield* attempt("copying a snapshot", () => copyVolume(origin.image, path, uid)))) {
          record = { ...record, sharedBytes: 0 }
          yield* note(folder, record)
        }
      }
      yield* attempt("making a volume", () =>
        host.volumes.ensure(
          sandboxId,
          () => existsSync(folder.file("volume")),
          () => ensureVolume(folder.file("volume"), volumeBytes, record.uid)
        )
      )
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
      permits.withPermits(1),
      Effect.tapError(() => notStarting(folder, spec.generation))
    )
  }

  /** Makes a machine that sleeps with the memory of a snapshot. */
  layDown(
    folder: SandboxFolder,
    { spec, origin, memory }: Fork
  ): Effect.Effect<MachineRecord, RuntimeRefused | RuntimeUnavailable> {
    const { host, room, spares, images, permits } = this.options
    const { sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled } = spec
    const { accelerator } = host.choice
    return Effect.gen(function* () {
      const admitted = yield* spares.givingWay(
        room.admit({
          ...{ sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled, accelerator, isFork: true },
          ...imageOf(spec.imageDigest),
          ...{ sharedBytes: origin.imageBytes, state: "starting", uuid: randomUUID(), process: null, network: null }
        })
      )
      yield* images.link(folder, spec.imageDigest)
      const isShared = yield* attempt("copying a snapshot", () =>
        layDownFork(folder, origin.image, memory, admitted.uid)
      )
      const [rootBytes] = yield* Effect.all(
        [
          attempt("measuring a root disk", () => allocatedBytes(folder.file("overlay"))),
          attempt("noting a volume", () => host.volumes.note(sandboxId))
        ],
        { concurrency: 2 }
      )
      const asleep: MachineRecord = {
        ...admitted,
        state: "suspended",
        sharedBytes: isShared ? origin.imageBytes : 0,
        sharedRootBytes: isShared ? (rootBytes ?? 0) : 0
      }
      yield* note(folder, asleep)
      return asleep
    }).pipe(
      permits.withPermits(1),
      Effect.tapError(() => notStarting(folder, generation))
    )
  }

  /** Makes a machine that sleeps with the memory that a rollback has laid beside its volume. */
  lieDown(
    folder: SandboxFolder,
    { sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled, imageDigest }: MachineSpec,
    { sharedBytes = 0, sharedRootBytes = 0 }: MachineRecord
  ): Effect.Effect<MachineRecord, RuntimeRefused | RuntimeUnavailable> {
    const { host, room, spares, images } = this.options
    const { accelerator } = host.choice
    return Effect.gen(function* () {
      yield* attempt("looking for memory", () => access(folder.file("forked")))
      yield* images.link(folder, imageDigest)
      return yield* spares.givingWay(
        room.admit({
          ...{ sandboxId, generation, vcpus, memoryBytes, volumeBytes, networkEnabled, accelerator, isFork: true },
          ...imageOf(imageDigest),
          ...{ sharedBytes, sharedRootBytes, state: "suspended", uuid: randomUUID(), process: null, network: null }
        })
      )
    })
  }

  /** Wakes a sleeping machine with its saved memory. */
  wake(
    folder: SandboxFolder,
    record: MachineRecord,
    turn?: () => void
  ): Effect.Effect<void, RuntimeRefused | RuntimeUnavailable> {
    const { room, spares, permits } = this.options
    const shape = this.shapeFor({ ...record, network: record.networkEnabled }, record.accelerator)
    const saved = record.isFork === true ? "forked" : "suspended"
    return Effect.gen({ self: this }, function* () {
      turn?.()
      yield* spares.givingWay(room.readmit(record))
      yield* attempt("preparing a machine", async () => {
        await access(folder.file(saved))
        await folder.prepare(record.uid)
      })
      const mappable = yield* attempt("mapping a saved state", () =>
        mappableIn(folder, record.memoryBytes, saved)
      ).pipe(Effect.catchTag("RuntimeUnavailable", ({ message }) => Effect.as(Effect.logWarning(message), null)))
      // Beside QEMU's start. Without the copy, QEMU reads the saved state into the memory that it has mapped.
      const copied = Promise.resolve(mappable?.makeDevices(record.uid)).then(
        () => null,
        (cause: unknown) => `A saved state is read, for it was not copied: ${cause}`
      )
      const run = this.launched(folder, record, shape, wakeFrom(mappable), (machine, started) =>
        Effect.gen(function* () {
          const fault = yield* Effect.promise(() => copied)
          if (fault !== null) yield* Effect.logWarning(fault)
          const stateFile = machineFiles[mappable === null || fault !== null ? saved : "devices"]
          yield* loadState(machine, stateFile, { memoryIsShared: false })
          // Point of no return: from here the volume changes, and the saved memory must never be used with it again.
          yield* note(folder, { ...started, state: "waking" })
          yield* attempt("resuming a machine", () => machine.qmp.execute("cont"))
          yield* Effect.all(
            [
              record.isFork === true
                ? giveOwnIdentity(machine, record)
                : attempt("setting a machine's clock", () => machine.boot.clock(IDENTITY_TIMEOUT_MS)),
              // The memory of a snapshot is only loaded with an agent of this version: machineKey.
              (record.isFork === true ? agentConnects : agentAnswers)(machine, AGENT_TIMEOUT_MS),
              // Already here: on a full disk its room is what the next record needs.
              Effect.ignore(attempt("removing a saved state", () => dropSavedState(folder)))
            ],
            { concurrency: 3, discard: true }
          )
        })
      )
      // Nothing writes to what a caller removes.
      yield* Effect.ensuring(
        run,
        Effect.promise(() => copied)
      )
      yield* attempt("removing a saved state", () => dropSavedState(folder))
    }).pipe(permits.withPermits(1))
  }

  private clone(folder: SandboxFolder, record: MachineRecord, shape: MachineShape, template: Template) {
    const start: Start = { type: "clone", memoryFile: template.memoryFile }
    return Effect.andThen(
      attempt("making a root disk", () => copyRootDisk(template.rootDisk, folder.file("overlay"), record.uid)),
      this.launched(folder, record, shape, start, (machine) =>
        Effect.andThen(
          loadState(machine, template.stateFile, { memoryIsShared: true }),
          giveIdentity(machine, record, shape)
        )
      )
    )
  }

  private coldBoot(folder: SandboxFolder, record: MachineRecord, shape: MachineShape) {
    const { host, settings } = this.options
    const { image } = host
    const makeRoot = async () => {
      const path = folder.file("overlay")
      await rm(path, { force: true })
      await makeOverlay(path, { path: image.rootDisk, format: "raw", bytes: image.rootBytes })
      if (record.uid !== null) await chown(path, record.uid, record.uid)
    }
    return Effect.gen({ self: this }, function* () {
      yield* attempt("making a root disk", makeRoot)
      const { kernel, initramfs } = image
      const tscKhz = yield* Effect.promise(() => host.ticks.khz())
      const start: Start = { type: "boot", kernel, initramfs, memoryFile: null, tscKhz }
      yield* this.launched(folder, record, shape, start, (machine) =>
        Effect.andThen(agentAnswers(machine, settings.bootTimeoutMs), giveIdentity(machine, record, shape))
      )
    })
  }

  /** Runs QEMU, connects to it, lets `prepare` bring the guest up, and only then counts it as running. On failure it leaves nothing behind. */
  private launched(
    folder: SandboxFolder,
    record: MachineRecord,
    shape: MachineShape,
    start: Start,
    prepare: (machine: Machine, started: MachineRecord) => Effect.Effect<void, RuntimeUnavailable>
  ): Effect.Effect<void, RuntimeUnavailable> {
    const { host, live } = this.options
    return runMachine(host, { folder, record, shape, start }, (machine, started) =>
      Effect.andThen(prepare(machine, started), live.begin(folder, started, machine))
    )
  }
}

const imageOf = (imageDigest: string | undefined) => (imageDigest === undefined ? {} : { imageDigest })

/** Nothing runs, so the record must not count as starting. */
const notStarting = (folder: SandboxFolder, generation: number): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.promise(() => folder.read()),
    (record) =>
      record === null || record.generation !== generation
        ? Effect.void
        : Effect.ignore(note(folder, { ...record, state: "stopped", process: null, network: null }))
  )

const note = (folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> =>
  attempt("writing a record", () => folder.write(record))
