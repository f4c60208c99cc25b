/**
 * Creates, finds, watches and removes the Sandboxes of this host, which `SandboxState` records.
 *
 * Calls for one Sandbox run one after the other, across processes. Every step is repeatable after a crash: each first checks what exists.
 */

import { rm } from "node:fs/promises"
import type { Socket } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { type PublicText, publicText } from "../../../schemas/PublicText.ts"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import { agentHealth, makeAgentGuest } from "../../runtime/agentClient/AgentGuest.ts"
import { type AgentSession, makeAgentSession } from "../../runtime/agentClient/AgentSession.ts"
import type { Guest } from "../../runtime/Guest.ts"
import type { InventoryEntry, ResourceSample, RuntimeDown, SandboxSpec } from "../../runtime/Runtime.ts"
import {
  type CgroupHost,
  cgroupCpuSeconds,
  cgroupMemoryBytes,
  cgroupNames,
  cgroupOomKills,
  detectCgroups,
  NO_CGROUPS,
  releaseCgroups,
  servingCgroups
} from "../linux/cgroups.ts"
import { endsItsContainer } from "../linux/containerEnd.ts"
import { diskObstacle } from "../linux/diskRoom.ts"
import { HostMutex, heldTooLong } from "../linux/HostMutex.ts"
import { HostUsers, sharedUsers } from "../linux/HostUsers.ts"
import { networkBytes } from "../linux/networkBytes.ts"
import { type ConnectedNetwork, closeHostAddresses } from "../linux/networkNamespace.ts"
import { isOfThisBoot, isSame, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import { networkRetryPause, type RetryPause } from "../linux/RetryPause.ts"
import { isSandboxId } from "../linux/SandboxRecords.ts"
import { Trash } from "../linux/Trash.ts"
import { connectUnix } from "../linux/unixSocket.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { boot } from "./boot.ts"
import { ConsoleTail } from "./ConsoleTail.ts"
import { endProcesses } from "./endProcesses.ts"
import { HostLayout } from "./HostLayout.ts"
import { markedProcesses, markOf, SANDBOX_USERS } from "./markedProcesses.ts"
import { hasLostNetwork, hasNotAnswered, isUp, mayBeUp, type RuntimeRecord, type SandboxState } from "./SandboxState.ts"
import { reconnectSandbox } from "./sandboxNetwork.ts"
import { closeVolume, removeVolume, volumeUsedBytes } from "./volume.ts"
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

/** The disk has no room for another volume. The message is one sentence for the operator. */
export class DiskPromised extends Error {}

interface Live {
  record: RuntimeRecord
  readonly session: AgentSession
  readonly guest: Guest
  readonly console: ConsoleTail
  /** Null without a network. */
  readonly network: ConnectedNetwork | null
  /** Spaces the restarts, and their log lines, of a network that keeps ending. */
  readonly networkPause: RetryPause
}

/** A host that boots many Sandboxes concurrently is slow. */
const HEALTH_TIMEOUT_MS = 40_000
/** Longer than another process's boot may take, so only a frozen process is overruled. */
const OTHERS_TIMEOUT_MS = 60_000
const THOROUGH_EVERY_LOOKS = 10

/** The reason for a Sandbox that was found dead at start. */
const absentlyEnded = ({ monitor }: RuntimeRecord): PublicText =>
  isOfThisBoot(monitor)
    ? endsItsContainer()
      ? publicText`The Sandbox ended with the container that it was in`
      : publicText`The Sandbox ended while the service was not running`
    : publicText`The Sandbox ended with its host, which was restarted`

export class NamespaceHost {
  readonly layout: HostLayout
  readonly cgroups: CgroupHost
  private readonly options: NamespaceOptions
  private readonly users: HostUsers
  private readonly live = new Map<string, Live>()
  private readonly dead = new Map<string, RuntimeDown>()
  private readonly turns: HostMutex
  private readonly watchers = new Set<() => void>()
  private looks = 0
  private readonly starts: Semaphore
  /** One at a time: two must not both take the last room. */
  private readonly admissions = new Semaphore(1)
  private readonly trash: Trash

  private constructor(options: NamespaceOptions, layout: HostLayout) {
    this.options = options
    this.layout = layout
    this.cgroups = layout.isRoot ? detectCgroups(layout.instance, true) : NO_CGROUPS
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
      if (isUp(record)) host.adopt(sandboxId, record)
      else host.found(sandboxId, record, absentlyEnded(record))
    }
    return host
  }

  /** Ends the sessions; the Sandboxes keep running. Without any Sandbox, removes everything outside of the data folder. */
  async close(): Promise<void> {
    const runs = this.live.size > 0
    for (const sandboxId of [...this.live.keys()]) this.forget(sandboxId)
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
            const live = this.live.get(sandboxId) ?? this.adopt(sandboxId, record)
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
    // Checking that a pid exists is cheap. Checking that it is still the same process needs reads from /proc, so that is done only every few passes.
    const isThorough = this.looks++ % THOROUGH_EVERY_LOOKS === 0
    for (const [sandboxId, { record }] of this.live) {
      if ((!isThorough && mayBeUp(record)) || isUp(record)) continue
      this.found(sandboxId, record)
    }
    return [...this.dead.values()]
  }

  /**
   * Blocks host addresses that were added since in every network, and restarts slirp4netns for every Sandbox where it has died. Returns one sentence
   * for each restart.
   */
  async mendNetworks(): Promise<ReadonlyArray<string>> {
    for (const { network, record } of this.live.values()) {
      // A failure is retried at the next pass.
      if (network !== null && isUp(record)) await closeHostAddresses(network).catch(() => {})
    }
    const lost = [...this.live].filter(
      ([, { record, networkPause }]) => hasLostNetwork(record) && networkPause.isDue(performance.now())
    )
    const told = await Promise.all(lost.map(([sandboxId, live]) => this.mendNetwork(sandboxId, live)))
    return told.flatMap((it) => (it === null ? [] : [it]))
  }

  /** Thaws volumes that a backup left frozen. Returns their Sandboxes. */
  async thawAbandoned(): Promise<ReadonlyArray<string>> {
    const thawed: Array<string> = []
    for (const sandboxId of this.live.keys()) {
      const { image, folder } = this.layout.volume(this.layout.state(sandboxId))
      if (image !== null && (await thawAbandoned(image, folder))) thawed.push(sandboxId)
    }
    return thawed
  }

  private mendNetwork(sandboxId: string, live: Live): Promise<string | null> {
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
  readConsoles(): ReadonlyArray<{ sandboxId: string; generation: number; offset: number; bytes: Uint8Array }> {
    return [...this.live].flatMap(([sandboxId, { record, console }]) => {
      const chunk = console.read()
      return chunk === null ? [] : [{ sandboxId, generation: record.generation, ...chunk }]
    })
  }

  /** Calls back when a Sandbox may have ended, before the next pass would find it. */
  watch(wake: () => void): () => void {
    this.watchers.add(wake)
    return () => this.watchers.delete(wake)
  }

  /** Checks that the disk has room for the full size of every volume image. */
  private async admit({ sandboxId, volumeBytes }: SandboxSpec, uid: number | null): Promise<void> {
    if (!this.layout.volumesEnforced) return
    const held = await Promise.all(
      this.layout.sandboxIds().map(async (id) => {
        const state = this.layout.state(id)
        const { image } = this.layout.volume(state)
        const bytes = image === null ? 0 : (state.spec()?.volumeBytes ?? 0)
        return { bytes, allocatedBytes: image === null ? 0 : ((await allocatedBytes(image)) ?? 0) }
      })
    )
    const obstacle = await diskObstacle({
      folder: this.layout.stateFolder,
      held,
      wanted: [{ bytes: volumeBytes, allocatedBytes: 0 }],
      reserveBytes: this.options.diskReserveBytes
    })
    if (obstacle === null) return
    await this.users.release(uid, sandboxId)
    throw new DiskPromised(obstacle)
  }

  private async start(state: SandboxState, spec: SandboxSpec, uid: number | null): Promise<void> {
    const { sandboxId, generation } = spec
    const session = this.connectTo(state)
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
      this.keep(sandboxId, record, session)
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
    this.forget(state.sandboxId)
    this.dead.delete(state.sandboxId)
    await endProcesses(this.layout.instance, this.cgroups, state)
    await state.forgetRuntime()
  }

  private running(sandboxId: string, generation: number): Live | null {
    const known = this.live.get(sandboxId)
    const live = known?.record.generation === generation ? known : this.lookUp(sandboxId, generation)
    return live?.record.generation === generation ? live : null
  }

  /** Finds a runtime that another process of this service started in place of the one known here. */
  private lookUp(sandboxId: string, generation: number): Live | null {
    if (this.turns.isHeldHere(sandboxId)) return null
    const record = this.upOnFile(sandboxId)
    if (record?.generation !== generation) return null
    this.forget(sandboxId)
    return this.adopt(sandboxId, record)
  }

  private upOnFile(sandboxId: string): RuntimeRecord | null {
    const record = this.layout.state(sandboxId).runtime()
    return record !== null && isUp(record) ? record : null
  }

  private adopt(sandboxId: string, record: RuntimeRecord): Live {
    return this.keep(sandboxId, record, this.connectTo(this.layout.state(sandboxId)))
  }

  private keep(sandboxId: string, record: RuntimeRecord, session: AgentSession): Live {
    const console = new ConsoleTail(this.layout.console(this.layout.state(sandboxId), record.generation))
    const { isRoot } = this.layout
    const pid = (isRoot ? record.init : record.monitor)?.pid
    const network =
      record.networkEnabled && pid !== undefined ? { pid, throughUserNamespace: !isRoot, closedTo: null } : null
    const networkPause = networkRetryPause()
    const live = { record, session, guest: makeAgentGuest(session), console, network, networkPause }
    this.live.set(sandboxId, live)
    return live
  }

  private forget(sandboxId: string): void {
    const live = this.live.get(sandboxId)
    if (live === undefined) return
    live.session.close()
    live.console.close()
    this.live.delete(sandboxId)
  }

  /** Records that the Sandbox ended by itself. */
  private found(
    sandboxId: string,
    record: RuntimeRecord,
    ended = publicText`The Sandbox ended without being asked to`
  ): void {
    this.forget(sandboxId)
    // The bwrap inside outlives the agent while any process of the Sandbox lives, but without the agent the Sandbox cannot be reached.
    for (const it of [record.init, record.monitor]) if (it !== null) signal(it, "SIGKILL")
    const { exitCode } = this.layout.state(sandboxId).readStatus()
    const reason: RuntimeDown["reason"] =
      exitCode === 0
        ? { code: "EXITED", message: publicText`The Sandbox ended by itself.` }
        : {
            code: "CRASHED",
            message:
              cgroupOomKills(this.cgroups, sandboxId) > 0
                ? publicText`${ended}; processes in it had been killed because it was out of memory.`
                : publicText`${ended}.`
          }
    this.dead.set(sandboxId, { type: "down", sandboxId, generation: record.generation, reason })
  }

  private connectTo(state: SandboxState): AgentSession {
    return makeAgentSession({ connect: () => connectUnix(state.socket) })
  }

  /** Resolves with the agent's pid inside the Sandbox. */
  private async agentAnswers(session: AgentSession, generation: number): Promise<number> {
    const health = await this.options.run(agentHealth(session, HEALTH_TIMEOUT_MS))
    if (health.generation !== generation) throw new Error(`generation ${health.generation} answers, not ${generation}`)
    return health.pid
  }
}
