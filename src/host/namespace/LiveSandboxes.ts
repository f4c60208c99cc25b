/** The Sandboxes that this process knows to run on this host, and those that it saw end. */
import { type PublicText, publicText } from "../../../schemas/PublicText.ts"
import { makeAgentGuest } from "../../runtime/agentClient/AgentGuest.ts"
import type { AgentSession } from "../../runtime/agentClient/AgentSession.ts"
import type { Guest } from "../../runtime/Guest.ts"
import type { ConsoleChunk, RuntimeDown } from "../../runtime/Runtime.ts"
import { letRun } from "../linux/cgroupFreezer.ts"
import { type CgroupHost, cgroupOomKills } from "../linux/cgroups.ts"
import { endsItsContainer } from "../linux/containerEnd.ts"
import type { ConnectedNetwork } from "../linux/networkNamespace.ts"
import { isOfThisBoot, signal } from "../linux/ProcessIdentity.ts"
import { ProcessLook } from "../linux/ProcessLook.ts"
import { networkRetryPause, type RetryPause } from "../linux/RetryPause.ts"
import { ConsoleCut } from "./ConsoleCut.ts"
import { ConsoleTail } from "./ConsoleTail.ts"
import type { HostLayout } from "./HostLayout.ts"
import { LastOutputs } from "./LastOutputs.ts"
import { consoleOf } from "./ownConsole.ts"
import type { RuntimeRecord, SandboxState } from "./SandboxState.ts"
import { UsageReader } from "./UsageReader.ts"
import { unixAgent } from "./unixAgent.ts"
import type { VolumePlace } from "./volume.ts"

export interface LiveSandbox {
  record: RuntimeRecord
  readonly session: AgentSession
  readonly guest: Guest
  readonly console: ConsoleTail
  readonly volume: VolumePlace
  readonly usage: UsageReader
  readonly agentLook: ProcessLook
  /** This process learns by an event when the whole Sandbox ends. */
  reportsEnd: boolean
  readonly networkLook: ProcessLook
  /** Null without a network. */
  readonly network: ConnectedNetwork | null
  /** Spaces the restarts, and their log lines, of a network that keeps ending. */
  readonly networkPause: RetryPause
}

/** Half a minute, or two: its parent is in the Sandbox and leaves no zombie. */
const AGENT_THOROUGH_LOOKS = 60
/**
 * How often agents are looked at whose Sandbox's end is an event: such a look finds only an agent that other processes of its Sandbox outlive. It is
 * every fourth look, and sooner than the kernel reuses a pid.
 */
const REPORTED_LOOK_MS = 1_900
/** Ten seconds: where the service has pid 1, an orphaned slirp4netns that ends stays a zombie. */
const NETWORK_THOROUGH_LOOKS = 5

/** The reason for a Sandbox that was found dead at start. */
export const absentlyEnded = ({ monitor }: RuntimeRecord): PublicText =>
  isOfThisBoot(monitor)
    ? endsItsContainer()
      ? publicText`The Sandbox ended with the container that it was in`
      : publicText`The Sandbox ended while the service was not running`
    : publicText`The Sandbox ended with its host, which was restarted`

export class LiveSandboxes {
  readonly #layout: HostLayout
  readonly #cgroups: CgroupHost
  readonly #live = new Map<string, LiveSandbox>()
  readonly #dead = new Map<string, RuntimeDown>()
  readonly #lastOutputs = new LastOutputs()
  #allLookedAt = Number.NEGATIVE_INFINITY

  constructor(layout: HostLayout, cgroups: CgroupHost) {
    this.#layout = layout
    this.#cgroups = cgroups
  }

  get size(): number {
    return this.#live.size
  }

  get(sandboxId: string): LiveSandbox | undefined {
    return this.#live.get(sandboxId)
  }

  ids(): ReadonlyArray<string> {
    return [...this.#live.keys()]
  }

  entries(): Iterable<readonly [sandboxId: string, live: LiveSandbox]> {
    return this.#live.entries()
  }

  connectTo(state: SandboxState): AgentSession {
    return unixAgent(() => state.socket)
  }

  adopt(sandboxId: string, record: RuntimeRecord): LiveSandbox {
    // Its snapshot was being taken when the service and the program for that were killed.
    letRun(this.#cgroups, this.#layout.nameOf(sandboxId))
    return this.keep(sandboxId, record, this.connectTo(this.#layout.state(sandboxId)))
  }

  keep(sandboxId: string, record: RuntimeRecord, session: AgentSession): LiveSandbox {
    const state = this.#layout.state(sandboxId)
    const { isRoot } = this.#layout
    const pid = (isRoot ? record.init : record.monitor)?.pid
    const network =
      record.networkEnabled && pid !== undefined ? { pid, throughUserNamespace: !isRoot, closedTo: null } : null
    const networkPause = networkRetryPause()
    const live: LiveSandbox = {
      record,
      session,
      guest: makeAgentGuest(session),
      console: this.#consoleOf(sandboxId, record),
      volume: this.#layout.volume(state),
      usage: new UsageReader(),
      agentLook: new ProcessLook(AGENT_THOROUGH_LOOKS),
      reportsEnd: false,
      networkLook: new ProcessLook(NETWORK_THOROUGH_LOOKS),
      network,
      networkPause
    }
    this.#live.set(sandboxId, live)
    return live
  }

  /** Keeps the unread output of its console for the next `readConsoles`, because a stop unmounts the volume with that file. */
  forget(sandboxId: string): void {
    const live = this.#live.get(sandboxId)
    if (live === undefined) return
    live.session.close()
    this.#keepLast(sandboxId, live.record, live.console)
    this.#live.delete(sandboxId)
  }

  #consoleOf(sandboxId: string, record: RuntimeRecord): ConsoleTail {
    const state = this.#layout.state(sandboxId)
    return new ConsoleTail(consoleOf(this.#layout, state, record), new ConsoleCut(state.folder, record.generation))
  }

  #keepLast(sandboxId: string, { generation }: RuntimeRecord, console: ConsoleTail): void {
    const last = console.end()
    if (last !== null) this.#lastOutputs.keep({ sandboxId, generation, ...last })
  }

  /** Records that the Sandbox ended by itself. */
  found(sandboxId: string, record: RuntimeRecord, ended = publicText`The Sandbox ended without being asked to`): void {
    if (this.#live.has(sandboxId)) this.forget(sandboxId)
    // It ended before this process started. The log skips the bytes that an earlier process has stored.
    else this.#keepLast(sandboxId, record, this.#consoleOf(sandboxId, record))
    // The bwrap inside outlives the agent while any process of the Sandbox lives, but without the agent the Sandbox cannot be reached.
    for (const it of [record.init, record.monitor]) if (it !== null) signal(it, "SIGKILL")
    const { exitCode } = this.#layout.state(sandboxId).readStatus()
    const reason: RuntimeDown["reason"] =
      exitCode === 0
        ? { code: "EXITED", message: publicText`The Sandbox ended by itself.` }
        : {
            code: "CRASHED",
            message:
              cgroupOomKills(this.#cgroups, this.#layout.nameOf(sandboxId)) > 0
                ? publicText`${ended}; processes in it had been killed because it was out of memory.`
                : publicText`${ended}.`
          }
    this.#dead.set(sandboxId, { type: "down", sandboxId, generation: record.generation, reason })
  }

  /** The Sandbox is being ended, or started again: its earlier end is not reported any more. */
  forgetEnd(sandboxId: string): void {
    this.#dead.delete(sandboxId)
  }

  /** Checks every Sandbox that should run. Returns all that are known to have ended by themselves. */
  look(): ReadonlyArray<RuntimeDown> {
    const now = performance.now()
    const isForAll = now - this.#allLookedAt > REPORTED_LOOK_MS
    if (isForAll) this.#allLookedAt = now
    for (const [sandboxId, { record, agentLook, reportsEnd }] of this.#live) {
      if (reportsEnd && !isForAll) continue
      if (record.agent === null || !agentLook.isAlive(record.agent, now)) this.found(sandboxId, record)
    }
    return [...this.#dead.values()]
  }

  /** Console bytes since the last call of any caller, including those of Sandboxes that have ended since. */
  readConsoles(): ReadonlyArray<ConsoleChunk> {
    const ended = this.#lastOutputs.take()
    const running = [...this.#live].flatMap(([sandboxId, { record, console }]) => {
      const chunk = console.read()
      return chunk === null ? [] : [{ sandboxId, generation: record.generation, ...chunk }]
    })
    return [...ended, ...running]
  }
}
