/**
 * Creates, finds, watches and removes the Sandboxes of this host, which `SandboxState` records.
 *
 * Calls for one Sandbox run one after the other, across processes. Every step is repeatable after a crash: each first checks what exists.
 */

import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import type { Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import type { Guest } from "../../runtime/Guest.ts"
import type { InventoryEntry, ResourceSample, RuntimeDown, RuntimeSizes, SandboxSpec } from "../../runtime/Runtime.ts"
import { HostImages } from "../image/HostImages.ts"
import { type CgroupHost, detectCgroups, NO_CGROUPS, releaseCgroups } from "../linux/cgroups.ts"
import { HostMutex, heldTooLong } from "../linux/HostMutex.ts"
import { HostUsers, sharedUsers } from "../linux/HostUsers.ts"
import { SnapshotStore } from "../linux/SnapshotStore.ts"
import { Trash } from "../linux/Trash.ts"
import { connectUnix } from "../linux/unixSocket.ts"
import { agentAnswers } from "./agentAnswers.ts"
import { BlankVolumes } from "./BlankVolumes.ts"
import { bootRecord } from "./bootRecord.ts"
import { endProcesses } from "./endProcesses.ts"
import { HostLayout } from "./HostLayout.ts"
import { ImageMounts } from "./ImageMounts.ts"
import { imageSupport } from "./imageSupport.ts"
import { inventoryOf } from "./inventory.ts"
import { isShortage } from "./isShortage.ts"
import { absentlyEnded, type LiveSandbox, LiveSandboxes } from "./LiveSandboxes.ts"
import { SANDBOX_USERS } from "./markedProcesses.ts"
import { mendNetworks } from "./mendNetworks.ts"
import type { NamespaceOptions } from "./NamespaceOptions.ts"
import { removeOwnConsole } from "./ownConsole.ts"
import { resizeRunning } from "./resizeRunning.ts"
import { isUp, type SandboxState } from "./SandboxState.ts"
import { SPARE_GENERATION, SpareSandboxes, type SpareShape, type StartedSandbox } from "./SpareSandboxes.ts"
import { startedSandbox } from "./startedSandbox.ts"
import { canGiveVolumes } from "./VolumeGift.ts"
import { VolumeSnapshots } from "./VolumeSnapshots.ts"
import { closeVolume, PREZEROED, removeVolume } from "./volume.ts"
import { VolumeAdmission } from "./volumeAdmission.ts"
import { thawAbandoned } from "./volumeHold.ts"

/** Its agent has answered before: a boot takes less than this. */
const SPARE_ANSWERS_MS = 5_000
/** Longer than another process's boot may take, so only a frozen process is overruled. */
const OTHERS_TIMEOUT_MS = 60_000

const NO_LIMITS = { maxBytes: Number.MAX_SAFE_INTEGER, registries: [] }

export class NamespaceHost {
  readonly layout: HostLayout
  readonly cgroups: CgroupHost
  private readonly options: NamespaceOptions
  private readonly users: HostUsers
  private readonly live: LiveSandboxes
  private readonly turns: HostMutex
  private readonly watchers = new Set<() => void>()
  private readonly starts: Semaphore
  readonly admission: VolumeAdmission
  readonly snapshots: VolumeSnapshots
  readonly images: HostImages
  readonly mounts: ImageMounts
  private readonly trash: Trash
  readonly spares: SpareSandboxes
  readonly blanks: BlankVolumes
  /** Boots of Sandboxes with an owner, those that wait for their turn included. */
  private boots = 0

  private constructor(options: NamespaceOptions, layout: HostLayout, givesVolumes: boolean) {
    this.options = options
    this.layout = layout
    this.cgroups = layout.isRoot ? detectCgroups(layout.instance, true) : NO_CGROUPS
    this.live = new LiveSandboxes(layout, this.cgroups)
    this.users = new HostUsers(layout.stateFolder, layout.isRoot ? SANDBOX_USERS : null)
    this.trash = new Trash(join(layout.stateFolder, ".trash"))
    this.starts = new Semaphore(options.parallelStarts)
    const { run, fork = Effect.runFork } = options
    this.turns = new HostMutex({
      instance: layout.instance,
      patienceMs: options.othersTimeoutMs ?? OTHERS_TIMEOUT_MS,
      onImpatient: (sandboxId) => void run(Effect.logWarning(heldTooLong(sandboxId)))
    })
    const snapshots = new SnapshotStore(layout.stateFolder)
    this.admission = new VolumeAdmission(layout, this.users, snapshots, options.diskReserveBytes)
    this.snapshots = new VolumeSnapshots(snapshots, layout, this.cgroups, this.turns, this.admission)
    this.mounts = new ImageMounts(layout, this.turns)
    const support = imageSupport(layout, this.mounts, this.cgroups, this.admission)
    this.images = new HostImages({ ...support, turns: this.turns, limits: options.images ?? NO_LIMITS, run })
    const isBusy = () => this.boots > 0
    const folder = join(layout.stateFolder, ".blank")
    this.blanks = new BlankVolumes({ folder, extended: PREZEROED, isBusy, bytes: options.usual?.volumeBytes ?? null })
    this.spares = new SpareSandboxes({
      min: options.spares ?? 0,
      max: options.sparesMax ?? options.spares ?? 0,
      usual: options.usual ?? null,
      gifts: givesVolumes ? this : null,
      layout,
      users: this.users,
      turns: this.turns,
      isBusy,
      start: (name, shape, uid) => this.startSpare(name, shape, uid, givesVolumes),
      answers: ({ session, record }) => agentAnswers(run, session, record.generation, SPARE_ANSWERS_MS),
      destroy: (name) => this.remove(name),
      run,
      fork
    })
  }

  /** Finds the Sandboxes that a previous service left running. */
  static async open(options: NamespaceOptions): Promise<NamespaceHost> {
    const layout = await HostLayout.prepare(options.dataDir, options.volumePool)
    const givesVolumes = layout.volumesEnforced && canGiveVolumes
    const host = new NamespaceHost(options, layout, givesVolumes)
    host.trash.empty()
    await host.snapshots.tidy()
    await host.images.tidy()
    const sandboxIds = layout.sandboxIds()
    const shared = await host.users.settle(
      sandboxIds.map((sandboxId) => ({ sandboxId, uid: layout.state(sandboxId).spec()?.uid ?? null }))
    )
    if (shared.length > 0) await options.run(Effect.logWarning(sharedUsers(shared)))
    for (const sandboxId of sandboxIds) {
      const record = layout.state(sandboxId).runtime()
      if (record === null || record.init === null) continue
      if (isUp(record)) host.live.adopt(sandboxId, record)
      else host.live.found(sandboxId, record, absentlyEnded(record))
    }
    return host
  }

  /** Ends the sessions; the Sandboxes keep running. Without any Sandbox, removes everything outside of the data folder. */
  async close(): Promise<void> {
    await this.spares.close()
    await this.blanks.close()
    const runs = this.live.size > 0
    for (const sandboxId of this.live.ids()) this.live.forget(sandboxId)
    await this.trash.close()
    await this.mounts.unmountUnused().catch(() => {})
    const isOver = () => this.layout.sandboxIds().length === 0
    await this.layout.release(isOver, runs, () => releaseCgroups(this.cgroups))
  }

  /**
   * Resolves when this generation, or a newer one, runs and its agent answers. Calls `turn` when its boot starts. Until then, aborting `wanted` gives
   * it up and rejects; a boot that has started always completes.
   */
  provision(spec: SandboxSpec, turn?: () => void, wanted?: AbortSignal): Promise<void> {
    const { sandboxId, generation } = spec
    let hasBegun = false
    const begin = () => {
      if (!hasBegun) turn?.()
      hasBegun = true
    }
    return this.turns.pass(
      sandboxId,
      async () => {
        const state = this.layout.state(sandboxId)
        const record = state.runtime()
        if (record !== null && isUp(record)) {
          if (record.generation > generation) return
          if (record.generation === generation) {
            const live = this.live.get(sandboxId) ?? this.live.adopt(sandboxId, record)
            // Asked for while it booted; the volume is the next boot's where this fails.
            await this.resized(state, spec).catch(() => {})
            await agentAnswers(this.options.run, live.session, generation)
            return
          }
        }
        // Of a Sandbox that was never here there is nothing to end; to look for it takes as long as half a boot.
        // A spare's root is the host's.
        const isNew = this.isNew(state)
        const takesSpare = spec.image === undefined && spec.builder === undefined && isNew
        if (takesSpare && (await this.takeSpare(state, spec, begin, wanted))) return
        // A spare that failed after the rename is the Sandbox's own, and ends here.
        if (!this.isNew(state)) await this.end(state)
        this.boots++
        try {
          await this.spares.givingWay(() => this.bootInTurn(state, spec, begin, wanted))
        } catch (cause) {
          // Nothing is kept of a Sandbox whose first boot is refused.
          if (isNew && isShortage(cause)) await this.remove(sandboxId).catch(() => {})
          throw cause
        } finally {
          this.boots--
        }
        if (spec.image === undefined) await this.spares.refill(spec)
      },
      wanted
    )
  }

  /** Makes the missing spares of this shape in the background. */
  prepare(shape: SpareShape): Promise<void> {
    if (this.layout.volumesEnforced) void this.blanks.refill(shape.volumeBytes)
    return this.spares.refill(shape)
  }

  /** The folder is made before anything else is. */
  private isNew({ sandboxId, folder }: SandboxState): boolean {
    return !existsSync(folder) && !this.layout.volumes.isMissing(sandboxId, () => false)
  }

  /** Whether a Sandbox that was started ahead is this new one now. */
  private async takeSpare(
    state: SandboxState,
    spec: SandboxSpec,
    begin: () => void,
    wanted: AbortSignal | undefined
  ): Promise<boolean> {
    const origin = await this.snapshots.originOf(state, spec.snapshotId)
    wanted?.throwIfAborted()
    const started = await this.spares.take(spec, state, begin, origin)
    if (started === null) return false
    this.keep(spec.sandboxId, started)
    await this.spares.refill(spec)
    return true
  }

  private async bootInTurn(
    state: SandboxState,
    spec: SandboxSpec,
    begin: () => void,
    wanted: AbortSignal | undefined
  ): Promise<void> {
    const known = state.spec()
    const origin = await this.snapshots.originOf(state, spec.snapshotId)
    await this.images.admitBuilder(spec)
    const image = spec.image === undefined ? null : await this.images.present(spec.image, wanted)
    const uid = known?.uid ?? (await this.users.take(spec.sandboxId))
    const record = bootRecord(spec, known, { uid, image, origin })
    await this.admission.volume(known, state, record)
    // Before its turn: other boots need not wait for it.
    if (origin !== null && !(await this.snapshots.copyTo(state, origin))) {
      await state.writeSpec({ ...record, sharedBytes: 0 })
    }
    const root = image === null ? null : await this.mounts.root(this.images, image)
    const started = await this.starts.run(() => {
      begin()
      return this.start(state, spec, uid, root)
    }, wanted)
    this.keep(spec.sandboxId, started)
  }

  /** Boots a Sandbox without an owner, in a folder of this name. */
  private async startSpare(name: string, shape: SpareShape, uid: number | null, ownConsole: boolean) {
    const state = this.layout.state(name)
    const spec = { ...shape, sandboxId: name, generation: SPARE_GENERATION }
    await this.admission.volume(null, state, { uid, volumeBytes: shape.volumeBytes, name })
    return await this.starts.runIfFree(() => this.start(state, spec, uid, null, ownConsole))
  }

  /** Does nothing to another generation. */
  resize(sandboxId: string, generation: number, sizes: RuntimeSizes): Promise<void> {
    return this.turns.pass(sandboxId, async () => {
      const state = this.layout.state(sandboxId)
      const record = state.runtime()
      if (record?.generation === generation && isUp(record)) await this.resized(state, sizes)
    })
  }

  private resized(state: SandboxState, sizes: RuntimeSizes): Promise<void> {
    const { layout, cgroups, admission } = this
    return resizeRunning({ layout, cgroups, admission }, state, sizes)
  }

  stop(sandboxId: string, generation: number): Promise<void> {
    return this.turns.pass(sandboxId, async () => {
      const state = this.layout.state(sandboxId)
      const record = state.runtime()
      if (record !== null && record.generation > generation && isUp(record)) return
      await this.end(state)
      await closeVolume(this.layout.volume(state))
    })
  }

  destroy(sandboxId: string): Promise<void> {
    return this.turns.pass(sandboxId, () => this.remove(sandboxId))
  }

  private async remove(sandboxId: string): Promise<void> {
    const state = this.layout.state(sandboxId)
    const uid = state.spec()?.uid ?? null
    await this.end(state)
    await removeVolume(this.layout.volume(state), this.trash)
    await rm(state.folder, { recursive: true, force: true })
    await this.layout.volumes.forget(sandboxId)
    await this.users.release(uid, sandboxId)
    this.layout.forgetName(sandboxId)
  }

  inventory(): ReadonlyArray<InventoryEntry> {
    return inventoryOf(this.layout, this.cgroups, this.live)
  }

  /** Null when that generation does not run here. */
  guest(sandboxId: string, generation: number): Guest | null {
    return this.running(sandboxId, generation)?.guest ?? null
  }

  /** Opens another connection to the agent of that generation. */
  async connect(sandboxId: string, generation: number): Promise<Socket> {
    const live = this.running(sandboxId, generation)
    if (live !== null) {
      const connection = await connectUnix(this.layout.state(sandboxId).socket)
      // The folder may belong to the next generation by now.
      if (this.live.get(sandboxId) === live) return connection
      connection.destroy()
    }
    throw new Error("That generation of the Sandbox does not run")
  }

  /** Null when that generation does not run here. */
  sample(sandboxId: string, generation: number): ResourceSample | null {
    const live = this.running(sandboxId, generation)
    return live === null ? null : live.usage.read(this.layout, this.cgroups, sandboxId, live.record, live.volume)
  }

  /** Checks every Sandbox that should run. Returns all that are known to have ended by themselves. */
  look(): ReadonlyArray<RuntimeDown> {
    return this.live.look()
  }

  /** See `mendNetworks`. */
  mendNetworks(): Promise<ReadonlyArray<string>> {
    return mendNetworks(this.layout, this.cgroups, this.live, this.turns)
  }

  /** Thaws volumes that a backup left frozen. Returns their Sandboxes. */
  async thawAbandoned(): Promise<ReadonlyArray<string>> {
    const thawed: Array<string> = []
    for (const [sandboxId, { volume }] of this.live.entries()) {
      const { image, folder } = volume
      if (image !== null && (await thawAbandoned(image, folder))) thawed.push(sandboxId)
    }
    return thawed
  }

  /** Console bytes since the last call of any caller. */
  readConsoles(): ReturnType<LiveSandboxes["readConsoles"]> {
    return this.live.readConsoles()
  }

  /** Calls back when a Sandbox may have ended, before the next pass would find it. */
  watch(wake: () => void): () => void {
    this.watchers.add(wake)
    return () => this.watchers.delete(wake)
  }

  /** Boots it; `keep` makes it one of those that are watched. */
  private start(
    state: SandboxState,
    spec: SandboxSpec,
    uid: number | null,
    imageRoot: string | null,
    ownConsole = false
  ): Promise<StartedSandbox> {
    const { layout, cgroups, blanks } = this
    const { processesMax, run } = this.options
    const end = () => this.end(state)
    return startedSandbox({ layout, cgroups, blanks, processesMax, run, end, state, spec, uid, imageRoot, ownConsole })
  }

  private keep(sandboxId: string, { record, session, monitor }: StartedSandbox): void {
    const live = this.live.keep(sandboxId, record, session)
    live.reportsEnd = true
    void monitor.ended.then(() => {
      live.reportsEnd = false
      for (const wake of [...this.watchers]) wake()
    })
  }

  /** Ends all processes of this Sandbox, recorded or not, and removes the record of its run. */
  private async end(state: SandboxState): Promise<void> {
    this.live.forget(state.sandboxId)
    this.live.forgetEnd(state.sandboxId)
    await endProcesses(this.layout, this.cgroups, state)
    await removeOwnConsole(state)
    await state.forgetRuntime()
  }

  private running(sandboxId: string, generation: number): LiveSandbox | null {
    const known = this.live.get(sandboxId)
    const live = known?.record.generation === generation ? known : this.lookUp(sandboxId, generation)
    return live?.record.generation === generation ? live : null
  }

  /** Finds a runtime that another process of this service started in place of the one known here. */
  private lookUp(sandboxId: string, generation: number): LiveSandbox | null {
    if (this.turns.isHeldHere(sandboxId)) return null
    const record = this.layout.state(sandboxId).runtime()
    if (record?.generation !== generation || !isUp(record)) return null
    this.live.forget(sandboxId)
    return this.live.adopt(sandboxId, record)
  }
}
