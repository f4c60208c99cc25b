/**
 * Creates, finds, watches and removes the Sandboxes of this host, which `SandboxState` records.
 *
 * Calls for one Sandbox run one after the other, across processes. Every step is repeatable after a crash: each first checks what exists.
 */

import { rm } from "node:fs/promises"
import type { Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import { agentHealth } from "../../runtime/agentClient/AgentGuest.ts"
import type { AgentSession } from "../../runtime/agentClient/AgentSession.ts"
import type { Guest } from "../../runtime/Guest.ts"
import type { InventoryEntry, ResourceSample, RuntimeDown, SandboxSpec } from "../../runtime/Runtime.ts"
import {
  type CgroupHost,
  cgroupCpuSeconds,
  cgroupMemoryBytes,
  cgroupNames,
  detectCgroups,
  NO_CGROUPS,
  releaseCgroups,
  servingCgroups
} from "../linux/cgroups.ts"
import { HostMutex, heldTooLong } from "../linux/HostMutex.ts"
import { HostUsers, sharedUsers } from "../linux/HostUsers.ts"
import { networkBytes } from "../linux/networkBytes.ts"
import { closeHostAddresses } from "../linux/networkNamespace.ts"
import { isSame, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { isSandboxId } from "../linux/SandboxRecords.ts"
import { Trash } from "../linux/Trash.ts"
import { connectUnix } from "../linux/unixSocket.ts"
import { boot } from "./boot.ts"
import { endProcesses } from "./endProcesses.ts"
import { HostLayout } from "./HostLayout.ts"
import { absentlyEnded, type LiveSandbox, LiveSandboxes } from "./LiveSandboxes.ts"
import { markedProcesses, markOf, SANDBOX_USERS } from "./markedProcesses.ts"
import { hasLostNetwork, hasNotAnswered, isUp, type RuntimeRecord, type SandboxState } from "./SandboxState.ts"
import { reconnectSandbox } from "./sandboxNetwork.ts"
import { closeVolume, removeVolume, volumeUsedBytes } from "./volume.ts"
import { admitVolume, DiskPromised } from "./volumeAdmission.ts"
import { thawAbandoned } from "./volumeHold.ts"

export interface NamespaceOptions {
  readonly dataDir: string
  readonly processesMax: number
  readonly parallelStarts: number
  /** This much of the disk stays free when every volume is full. */
  readonly diskReserveBytes: number
  /** How long a call waits for another process that is changing the same Sandbox; default 60 s. */
  readonly othersTimeoutMs?: number
  /** Runs the agent client's effects in the service's own Effect runtime. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

/** A host that boots many Sandboxes concurrently is slow. */
const HEALTH_TIMEOUT_MS = 40_000
/** Longer than another process's boot may take, so only a frozen process is overruled. */
const OTHERS_TIMEOUT_MS = 60_000

export class NamespaceHost {
  readonly layout: HostLayout
  readonly cgroups: CgroupHost
  private readonly options: NamespaceOptions
  private readonly users: HostUsers
  private readonly live: LiveSandboxes
  private readonly turns: HostMutex
  private readonly watchers = new Set<() => void>()
  private readonly starts: Semaphore
  /** One at a time: two must not both take the last room. */
  private readonly admissions = new Semaphore(1)
  private readonly trash: Trash

  private constructor(options: NamespaceOptions, layout: HostLayout) {
    this.options = options
    this.layout = layout
    this.cgroups = layout.isRoot ? detectCgroups(layout.instance, true) : NO_CGROUPS
    this.live = new LiveSandboxes(layout, this.cgroups)
    this.users = new HostUsers(layout.stateFolder, layout.isRoot ? SANDBOX_USERS : null)
    this.trash = new Trash(join(layout.stateFolder, ".trash"))
    this.starts = new Semaphore(options.parallelStarts)
    this.turns = new HostMutex({
      instance: layout.instance,
      patienceMs: options.othersTimeoutMs ?? OTHERS_TIMEOUT_MS,
      onImpatient: (sandboxId) => void options.run(Effect.logWarning(heldTooLong(sandboxId)))
    })
  }

  /** Finds the Sandboxes that a previous service left running. */
  static async open(options: NamespaceOptions): Promise<NamespaceHost> {
    const layout = await HostLayout.prepare(options.dataDir)
    const host = new NamespaceHost(options, layout)
    host.trash.empty()
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
    const runs = this.live.size > 0
    for (const sandboxId of this.live.ids()) this.live.forget(sandboxId)
    await this.trash.close()
    const isOver = () => this.layout.sandboxIds().length === 0
    await this.layout.release(isOver, runs, () => releaseCgroups(this.cgroups))
  }

  /**
   * Resolves when this generation, or a newer one, runs and its agent answers. Calls `turn` when its boot starts. Until then, aborting `wanted` gives
   * it up and rejects; a boot that has started always completes.
   */
  provision(spec: SandboxSpec, turn?: () => void, wanted?: AbortSignal): Promise<void> {
    const { sandboxId, generation } = spec
    return this.turns.pass(
      sandboxId,
      async () => {
        const state = this.layout.state(sandboxId)
        const record = state.runtime()
        if (record !== null && isUp(record)) {
          if (record.generation > generation) return
          if (record.generation === generation) {
            const live = this.live.get(sandboxId) ?? this.live.adopt(sandboxId, record)
            await this.agentAnswers(live.session, generation)
            return
          }
        }
        await this.end(state)
        const known = state.spec()
        const uid = known?.uid ?? (await this.users.take(sandboxId))
        await this.admissions.run(async () => {
          if (known === null) await this.admit(spec, uid)
          await state.writeSpec({ uid, volumeBytes: spec.volumeBytes })
        })
        await this.starts.run(() => {
          turn?.()
          return this.start(state, spec, uid)
        }, wanted)
      },
      wanted
    )
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
    return this.turns.pass(sandboxId, async () => {
      const state = this.layout.state(sandboxId)
      const uid = state.spec()?.uid ?? null
      await this.end(state)
      await removeVolume(this.layout.volume(state), this.trash)
      await rm(state.folder, { recursive: true, force: true })
      await this.layout.volumes.forget(sandboxId)
      await this.users.release(uid, sandboxId)
    })
  }

  inventory(): ReadonlyArray<InventoryEntry> {
    const entries = new Map<string, InventoryEntry>()
    const marked = markedProcesses(this.layout.instance)
    const marks = new Map(marked.map(({ sandboxId, generation }) => [sandboxId, generation]))
    for (const sandboxId of this.layout.sandboxIds()) {
      const known = this.live.get(sandboxId)?.record ?? null
      // Another process of this service may have started a runtime since; only the record has it.
      const record = known !== null && isUp(known) ? known : this.layout.state(sandboxId).runtime()
      // A boot continues without the process that started it.
      const booting = record === null || hasNotAnswered(record) ? (marks.get(sandboxId) ?? null) : null
      const generation = record !== null && isUp(record) ? record.generation : booting
      entries.set(sandboxId, { sandboxId, state: generation === null ? "volume" : "running", generation })
    }
    // Processes of a Sandbox whose folder is gone may still run.
    const strays = [
      ...marked,
      ...cgroupNames(this.cgroups, (name) => isSandboxId(name) && !entries.has(name)).map((sandboxId) => ({
        sandboxId,
        generation: null
      }))
    ]
    for (const { sandboxId, generation } of strays) {
      if (!entries.has(sandboxId)) entries.set(sandboxId, { sandboxId, state: "running", generation })
    }
    return [...entries.values()]
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
    const record = this.running(sandboxId, generation)?.record
    if (record === undefined || record.init === null) return null
    const network = record.networkEnabled ? networkBytes(record.init.pid) : null
    return {
      cpuSeconds: cgroupCpuSeconds(this.cgroups, sandboxId),
      memoryBytes: cgroupMemoryBytes(this.cgroups, sandboxId),
      volumeBytes: volumeUsedBytes(this.layout.volume(this.layout.state(sandboxId))),
      networkRxBytes: network?.received ?? null,
      networkTxBytes: network?.sent ?? null
    }
  }

  /** Checks every Sandbox that should run. Returns all that are known to have ended by themselves. */
  look(): ReadonlyArray<RuntimeDown> {
    return this.live.look()
  }

  /**
   * Blocks host addresses that were added since in every network, and restarts slirp4netns for every Sandbox where it has died. Returns one sentence
   * for each restart.
   */
  async mendNetworks(): Promise<ReadonlyArray<string>> {
    for (const [, { network, record }] of this.live.entries()) {
      // A failure is retried at the next pass.
      if (network !== null && isUp(record)) await closeHostAddresses(network).catch(() => {})
    }
    const lost = [...this.live.entries()].filter(
      ([, { record, networkPause }]) => hasLostNetwork(record) && networkPause.isDue(performance.now())
    )
    const told = await Promise.all(lost.map(([sandboxId, live]) => this.mendNetwork(sandboxId, live)))
    return told.flatMap((it) => (it === null ? [] : [it]))
  }

  /** Thaws volumes that a backup left frozen. Returns their Sandboxes. */
  async thawAbandoned(): Promise<ReadonlyArray<string>> {
    const thawed: Array<string> = []
    for (const [sandboxId] of this.live.entries()) {
      const { image, folder } = this.layout.volume(this.layout.state(sandboxId))
      if (image !== null && (await thawAbandoned(image, folder))) thawed.push(sandboxId)
    }
    return thawed
  }

  private mendNetwork(sandboxId: string, live: LiveSandbox): Promise<string | null> {
    return this.turns.pass(sandboxId, async () => {
      const { record } = live
      const { init, monitor, generation } = record
      if (this.live.get(sandboxId) !== live || init === null || !isUp(record) || !hasLostNetwork(record)) return null
      live.networkPause.tried(performance.now())
      try {
        const mark = markOf(this.layout.instance, sandboxId, generation)
        const cgroups = servingCgroups(this.cgroups, sandboxId)
        const state = this.layout.state(sandboxId)
        const network = await reconnectSandbox({ init, monitor, isRoot: this.layout.isRoot, cgroups, mark }, state)
        live.record = { ...record, network }
        await state.writeRuntime(live.record)
        return `The network of Sandbox ${sandboxId} had died and was restarted.`
      } catch (cause) {
        return `The network of Sandbox ${sandboxId} has died: ${cause instanceof Error ? cause.message : String(cause)}`
      }
    })
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

  private async admit({ sandboxId, volumeBytes }: SandboxSpec, uid: number | null): Promise<void> {
    try {
      await admitVolume(this.layout, volumeBytes, this.options.diskReserveBytes)
    } catch (cause) {
      if (cause instanceof DiskPromised) await this.users.release(uid, sandboxId)
      throw cause
    }
  }

  private async start(state: SandboxState, spec: SandboxSpec, uid: number | null): Promise<void> {
    const { sandboxId, generation } = spec
    const session = this.live.connectTo(state)
    let begun: ProcessIdentity | null = null
    try {
      const { record, monitor } = await boot({
        layout: this.layout,
        cgroups: this.cgroups,
        state,
        spec,
        uid,
        processesMax: this.options.processesMax,
        began: (it) => {
          begun = it
        },
        agentAnswers: () => this.agentAnswers(session, generation)
      })
      this.live.keep(sandboxId, record, session)
      monitor.on("exit", () => {
        for (const wake of [...this.watchers]) wake()
      })
    } catch (cause) {
      session.close()
      // Another process may have judged this one frozen and booted the Sandbox meanwhile.
      const recorded = state.runtime()?.monitor ?? null
      if (begun === null || recorded === null || isSame(begun, recorded)) await this.end(state)
      throw cause
    }
  }

  /** Ends all processes of this Sandbox, recorded or not, and removes the record of its run. */
  private async end(state: SandboxState): Promise<void> {
    this.live.forget(state.sandboxId)
    this.live.forgetEnd(state.sandboxId)
    await endProcesses(this.layout.instance, this.cgroups, state)
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
    const record = this.upOnFile(sandboxId)
    if (record?.generation !== generation) return null
    this.live.forget(sandboxId)
    return this.live.adopt(sandboxId, record)
  }

  private upOnFile(sandboxId: string): RuntimeRecord | null {
    const record = this.layout.state(sandboxId).runtime()
    return record !== null && isUp(record) ? record : null
  }

  /** Resolves with the agent's pid inside the Sandbox. */
  private async agentAnswers(session: AgentSession, generation: number): Promise<number> {
    const health = await this.options.run(agentHealth(session, HEALTH_TIMEOUT_MS))
    if (health.generation !== generation) throw new Error(`generation ${health.generation} answers, not ${generation}`)
    return health.pid
  }
}
