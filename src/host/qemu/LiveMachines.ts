/** The running machines to which the service is connected: found again after a restart, watched, and reported when they end by themselves. */

import { closeSync } from "node:fs"
import { Effect, Queue } from "effect"
import { type PublicText, publicText } from "../../../schemas/PublicText.ts"
import type { RuntimeDown, RuntimeStall, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import { openLifePipe } from "../linux/lifePipe.ts"
import { type ConnectedNetwork, closeHostAddresses, connectNetwork } from "../linux/networkNamespace.ts"
import { goneWithin, isAlive, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import { networkRetryPause, type RetryPause } from "../linux/RetryPause.ts"
import { adoptionOf, seenIn } from "./adoption.ts"
import { giveOwnIdentity } from "./identity.ts"
import { type Launched, withRoomToConnect } from "./launchQemu.ts"
import { agentAnswers, connectMachine, disconnect, endRelays, killProcess, type Machine } from "./Machine.ts"
import { cgroupsOf, removeMachineCgroups } from "./machineCgroups.ts"
import { pauseHeld, resumeHeld, wantedHolding, whilePaused, whileSaved, writeOut } from "./machineHold.ts"
import type { QemuHost } from "./QemuHost.ts"
import { processOf } from "./recordedProcess.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"
import { isRunning, isStalled, isWorthTrying, likelyReason, type StallReason, stallOf } from "./Stall.ts"
import { bringBack, dropSavedState } from "./standstill.ts"

const CLOCK_TIMEOUT_MS = 10_000
const ADOPTED_AGENT_TIMEOUT_MS = 5_000

export interface LiveMachine {
  readonly machine: Machine
  record: MachineRecord
  /** The service is ending it, so its end is not reported. */
  expected: boolean
  /** Why the host holds it up; null when it does not, undefined before the first check. */
  stall: StallReason | null | undefined
  /** Its clock was checked since the connection, or is being checked. */
  isClockWatched: boolean
  /** A check of it is running. */
  isLookedAt: boolean
  /** The last hold of its volume for which it was, or is, paused. */
  holding: string | null
  /** Null without a network. */
  readonly network: ConnectedNetwork | null
  /** Spaces the restarts, and their log lines, of a network that keeps ending. */
  readonly networkPause: RetryPause
}

/** Events of machines that were not asked for, for the runtime's streams. */
export interface News {
  readonly downs: Queue.Queue<RuntimeDown>
  readonly stalls: Queue.Queue<RuntimeStall>
}

export class LiveMachines {
  private readonly host: QemuHost
  private readonly news: News
  private readonly live = new Map<string, LiveMachine>()
  /** The pauses of machines whose volumes are being read. */
  private readonly pauses = new Set<Promise<void>>()
  private isReleased = false

  constructor(host: QemuHost, news: News) {
    this.host = host
    this.news = news
  }

  readonly all = (): ReadonlyArray<LiveMachine> => [...this.live.values()]

  get(sandboxId: string): LiveMachine | undefined {
    return this.live.get(sandboxId)
  }

  /** Closes the service's connections; the machines keep running. */
  readonly release: Effect.Effect<void> = Effect.suspend(() => {
    this.isReleased = true
    const disconnectAll = Effect.forEach(
      this.all(),
      (live) => {
        live.expected = true
        return disconnect(live.machine)
      },
      { discard: true }
    )
    // Waits for all pauses, so that no machine stays paused.
    return Effect.andThen(
      Effect.promise(() => Promise.allSettled(this.pauses)),
      Effect.suspend(() => disconnectAll)
    )
  })

  /** Records and registers this machine as running. */
  begin(folder: SandboxFolder, started: MachineRecord, machine: Machine): Effect.Effect<void, RuntimeUnavailable> {
    const { isFork: _, ...known } = started
    const running: MachineRecord = { ...known, state: "running" }
    return Effect.tap(
      attempt("writing a record", () => folder.write(running)),
      () => Effect.sync(() => this.attach(running, machine, null))
    )
  }

  private attach(record: MachineRecord, machine: Machine, stall: null | undefined): void {
    const { pid } = machine.process
    const network = record.network === null ? null : { pid, throughUserNamespace: false, closedTo: null }
    const networkPause = networkRetryPause()
    const live: LiveMachine = {
      machine,
      record,
      expected: false,
      stall,
      isClockWatched: false,
      isLookedAt: false,
      holding: null,
      network,
      networkPause
    }
    this.live.set(record.sandboxId, live)
    machine.qmp.listen((event) => {
      const reason = stallOf(event)
      if (reason !== null) this.stalled(live, reason)
    })
    void machine.qmp.closed.then(() => this.ended(live))
  }

  /** Forgets and disconnects a machine that is being ended. */
  detach(sandboxId: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const live = this.live.get(sandboxId)
      if (live === undefined) return Effect.void
      live.expected = true
      this.live.delete(sandboxId)
      return disconnect(live.machine)
    })
  }

  /**
   * True when that machine runs and is connected. The caller holds the machine's lock: QEMU serves one control connection, and a second one would
   * wait for it in vain.
   */
  adopted(folder: SandboxFolder, record: MachineRecord): Effect.Effect<boolean> {
    // Evaluated when it runs, not when it is created: the previous lock holder may have connected.
    return Effect.suspend(() => {
      const { process } = record
      if (process === null || !isAlive(process)) return Effect.succeed(false)
      const known = this.live.get(record.sandboxId)
      if (known !== undefined && known.machine.process.pid === process.pid && !known.expected)
        return Effect.succeed(true)
      const connected = connectMachine(folder, process, this.host.answerTimeoutMs).pipe(
        Effect.tap((machine) => Effect.promise(() => resumeHeld(folder, machine).catch(() => {}))),
        Effect.tap((machine) => Effect.tapError(this.brought(folder, record, machine), () => disconnect(machine))),
        // When the agent answers, QEMU has accepted every connection. A busy machine is adopted all the same.
        Effect.tap((machine) => Effect.ignore(agentAnswers(machine, ADOPTED_AGENT_TIMEOUT_MS)))
      )
      return withRoomToConnect(process, record.uid, connected).pipe(
        Effect.tap((machine) =>
          Effect.suspend(() => {
            if (this.isReleased) return disconnect(machine)
            this.attach(record, machine, undefined)
            return Effect.void
          })
        ),
        Effect.as(true),
        Effect.catchTag("RuntimeUnavailable", ({ message }) =>
          Effect.as(Effect.logWarning(`Sandbox ${record.sandboxId} runs and does not answer: ${message}`), false)
        )
      )
    })
  }

  /** Continues a machine that an earlier service left running or paused. Fails for a machine that cannot continue. */
  private brought(
    folder: SandboxFolder,
    record: MachineRecord,
    machine: Machine
  ): Effect.Effect<void, RuntimeUnavailable> {
    return attempt("looking at a machine", async () => {
      const seen = seenIn(await machine.qmp.execute("query-status"))
      const adoption = adoptionOf(record.state, seen)
      if (adoption === "goOn") {
        await dropSavedState(folder)
        // That service may have stopped the programs, and not yet the machine.
        void machine.boot.thaw(CLOCK_TIMEOUT_MS).catch(() => {})
      } else if (adoption === "resume" || adoption === "finishWake") await bringBack(folder, machine)
      else throw new Error(`QEMU says that it is ${seen}`)
      return adoption
    }).pipe(
      Effect.flatMap((adoption) =>
        adoption === "goOn"
          ? Effect.void
          : Effect.logWarning(`Sandbox ${record.sandboxId} was paused when its service was killed, and goes on`)
      )
    )
  }

  /**
   * Finishes a wake that a killed service had started. The caller holds the machine's lock. False when its memory is lost and none of its processes
   * runs.
   */
  woken(folder: SandboxFolder, record: MachineRecord): Effect.Effect<boolean, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      if (yield* this.adopted(folder, { ...record, state: "waking" })) {
        const live = this.live.get(record.sandboxId)!
        if (record.isFork === true) yield* giveOwnIdentity(live.machine, record)
        live.record = { ...live.record, state: "running", isFork: false }
        yield* attempt("writing a record", () => folder.write(live.record))
        return true
      }
      if (record.process !== null && isAlive(record.process)) yield* killProcess(record.process)
      return false
    })
  }

  /** Ends the rest of QEMU for a machine whose memory is saved. */
  private slept(folder: SandboxFolder, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> {
    return Effect.gen({ self: this }, function* () {
      const process = processOf(record)
      if (process === null) return
      yield* killProcess(process)
      yield* Effect.promise(() => removeMachineCgroups(this.host.cgroups, record.uuid))
      yield* attempt("writing a record", () => folder.write({ ...record, process: null, network: null }))
    })
  }

  adoptOrReport(folder: SandboxFolder): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const record = yield* Effect.promise(() => folder.read())
      if (record?.state === "suspended") return yield* Effect.ignore(this.slept(folder, record))
      // If its memory is lost, the command that wakes it reports that.
      if (record?.state === "waking") return yield* Effect.ignore(this.woken(folder, record))
      if (record === null || record.state !== "running") return
      if ((yield* this.adopted(folder, record)) || this.isReleased) return
      if (record.process !== null && isAlive(record.process)) {
        // It cannot be managed any more.
        signal(record.process, "SIGKILL")
        this.report(
          record,
          "CRASHED",
          publicText`The machine did not answer when the service came back, and was ended.`
        )
      } else this.report(record, "CRASHED", publicText`The machine ended while the service was not running.`)
    })
  }

  /** Starts another slirp4netns for a machine whose own has died. Until then it has no network. */
  mendNetwork(folder: SandboxFolder, live: LiveMachine): Effect.Effect<void> {
    const { record, machine } = live
    return Effect.gen({ self: this }, function* () {
      if (this.live.get(record.sandboxId) !== live || !hasLostNetwork(live)) return
      live.networkPause.tried(performance.now())
      const lifeFd = yield* attempt("finding a machine's life pipe", () => openLifePipe(folder.file("life")))
      const network = yield* networkFor({ process: machine.process, lifeFd }, cgroupsOf(this.host.cgroups, record))
      live.record = { ...record, network }
      yield* attempt("writing a record", () => folder.write(live.record))
      yield* Effect.logWarning(`The network of Sandbox ${record.sandboxId} had died and was restarted.`)
    }).pipe(
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.logWarning(`The network of Sandbox ${record.sandboxId} has died: ${message}`)
      )
    )
  }

  /** Whether a backup wants to read the volume of this machine, and it was not paused for that hold yet. */
  isToBeHeld(folder: SandboxFolder, live: LiveMachine): boolean {
    const holding = wantedHolding(folder)
    return holding !== null && holding !== live.holding && !live.expected
  }

  /** Pauses a machine while its volume is read. The caller holds the machine's lock. */
  holdStill(folder: SandboxFolder, live: LiveMachine): Effect.Effect<void> {
    const { machine, record } = live
    const isOurs = () => !this.isReleased && !live.expected && this.live.get(record.sandboxId) === live
    const hold = async () => {
      if (!isOurs() || !this.isToBeHeld(folder, live)) return
      const holding = wantedHolding(folder)
      live.holding = holding
      // A held-up machine cannot write.
      if (!live.stall) await writeOut(machine)
      if (!isOurs()) return
      const pause = pauseHeld(folder, machine, () => isOurs() && wantedHolding(folder) === holding)
      this.pauses.add(pause)
      await pause.finally(() => this.pauses.delete(pause))
    }
    return attempt("pausing a machine for a backup", hold).pipe(
      Effect.catch(({ message }) => Effect.logWarning(`Sandbox ${record.sandboxId}: ${message}`))
    )
  }

  /** Pauses a machine while `read` reads its volume. The caller holds the machine's lock. */
  whileStill<A>(folder: SandboxFolder, { machine }: LiveMachine, read: () => Promise<A>) {
    return this.awaited(whilePaused(folder, machine, read))
  }

  /** The same, where `save` has QEMU pause it, and calls `pauses` before. */
  whileSaved<A>(folder: SandboxFolder, { machine }: LiveMachine, save: (pauses: () => void) => Promise<A>) {
    return this.awaited(whileSaved(folder, machine, save))
  }

  private async awaited<A>(pause: Promise<A>): Promise<A> {
    const over = pause.then(
      () => {},
      () => {}
    )
    // The connection is not closed before the machine goes on.
    this.pauses.add(over)
    return await pause.finally(() => this.pauses.delete(over))
  }

  /**
   * Asks QEMU for the state of its machine. A machine that the host holds up is reported, and continues when it can. A QEMU that does not answer ends
   * with its control socket (`Qmp`).
   */
  async look(live: LiveMachine): Promise<void> {
    if (live.isLookedAt || live.expected) return
    live.isLookedAt = true
    // A failure is retried at the next check.
    if (live.network !== null && isAlive(live.machine.process)) void closeHostAddresses(live.network).catch(() => {})
    const { qmp, boot } = live.machine
    try {
      const status = await qmp.execute("query-status")
      if (isStalled(status)) {
        if (!live.stall) this.stalled(live, await likelyReason(this.host.root))
        if (live.expected || !live.stall || !(await isWorthTrying(live.stall, this.host.root))) return
        await qmp.execute("cont")
        // Its clock stood still meanwhile.
        await boot.clock(CLOCK_TIMEOUT_MS).catch(() => {})
      } else if (live.stall !== null && isRunning(status)) this.resumed(live)
    } catch {
      // It has ended, or the next check retries.
    } finally {
      live.isLookedAt = false
    }
  }

  private stalled(live: LiveMachine, reason: StallReason): void {
    if (live.expected || live.stall?.code === reason.code) return
    live.stall = reason
    const { sandboxId, generation } = live.record
    Queue.offerUnsafe(this.news.stalls, { type: "stalled", sandboxId, generation, reason })
  }

  private resumed(live: LiveMachine): void {
    live.stall = null
    const { sandboxId, generation } = live.record
    Queue.offerUnsafe(this.news.stalls, { type: "resumed", sandboxId, generation })
  }

  /** QEMU closed its control socket: it has ended, or is useless. */
  private async ended(live: LiveMachine): Promise<void> {
    const { record, machine } = live
    if (this.live.get(record.sandboxId) === live) this.live.delete(record.sandboxId)
    machine.boot.close()
    endRelays(machine)
    if (live.expected) return
    // A QEMU that lost its control socket and lives cannot be managed any more.
    if (!(await goneWithin(() => isAlive(machine.process), 1_000))) signal(machine.process, "SIGKILL")
    await goneWithin(() => isAlive(machine.process), 5_000)
    if (live.expected) return
    if (machine.qmp.shutdownReason === "guest-shutdown")
      this.report(record, "EXITED", publicText`The machine powered itself off.`)
    else if (machine.qmp.shutdownReason?.startsWith("guest-") === true) {
      this.report(record, "CRASHED", publicText`The machine's kernel panicked or reset.`)
    } else if (machine.qmp.isHung)
      this.report(record, "CRASHED", publicText`The machine did not answer any more and was ended.`)
    else this.report(record, "CRASHED", publicText`The machine's process was killed or crashed.`)
  }

  private report(record: MachineRecord, code: "EXITED" | "CRASHED", message: PublicText): void {
    const { sandboxId, generation } = record
    Queue.offerUnsafe(this.news.downs, { type: "down", sandboxId, generation, reason: { code, message } })
  }
}

export const hasLostNetwork = ({ record, expected }: LiveMachine): boolean =>
  !expected && record.network !== null && !isAlive(record.network)

/** Connects a machine's network namespace and returns its slirp4netns; null when it has no network. Closes the life pipe. */
export const networkFor = (
  { process, lifeFd }: Pick<Launched, "process" | "lifeFd">,
  cgroups: ReadonlyArray<string>
): Effect.Effect<ProcessIdentity | null, RuntimeUnavailable> => {
  if (lifeFd === null) return Effect.succeed(null)
  return attempt("connecting a machine's network", () =>
    connectNetwork({ pid: process.pid, throughUserNamespace: false, lifeFd, cgroups })
  ).pipe(Effect.ensuring(Effect.sync(() => closeSync(lifeFd))))
}
