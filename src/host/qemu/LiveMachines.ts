/** The machines that run and that we are connected to: found again after a restart, watched, and reported when they end by themselves. */
import { closeSync } from "node:fs"
import { Effect, Queue } from "effect"
import type { RuntimeDown, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt } from "../linux/attempt.ts"
import { reopenLifePipe } from "../linux/lifePipe.ts"
import { connectNetwork } from "../linux/networkNamespace.ts"
import { goneWithin, isAlive, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import { type Launched, LIFE_FD } from "./launch.ts"
import { connectMachine, disconnect, type Machine } from "./Machine.ts"
import type { MachineRecord, SandboxFolder } from "./SandboxFolder.ts"

export interface LiveMachine {
  readonly machine: Machine
  record: MachineRecord
  /** We are ending it, so its end is no news. */
  expected: boolean
}

export class LiveMachines {
  private readonly downs: Queue.Queue<RuntimeDown>
  private readonly live = new Map<string, LiveMachine>()

  constructor(downs: Queue.Queue<RuntimeDown>) {
    this.downs = downs
  }

  readonly all = (): ReadonlyArray<LiveMachine> => [...this.live.values()]

  get(sandboxId: string): LiveMachine | undefined {
    return this.live.get(sandboxId)
  }

  /** Our connections end; the machines run on. */
  readonly release: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(
      this.all(),
      (live) => {
        live.expected = true
        return disconnect(live.machine)
      },
      { discard: true }
    )
  )

  /** From now on this machine counts as running. */
  begin(folder: SandboxFolder, started: MachineRecord, machine: Machine): Effect.Effect<void, RuntimeUnavailable> {
    const running: MachineRecord = { ...started, state: "running" }
    return Effect.tap(
      attempt("writing a record", () => folder.write(running)),
      () => Effect.sync(() => this.attach(running, machine))
    )
  }

  private attach(record: MachineRecord, machine: Machine): void {
    const live: LiveMachine = { machine, record, expected: false }
    this.live.set(record.sandboxId, live)
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

  /** True when that machine runs and we are connected to it. */
  adopted(folder: SandboxFolder, record: MachineRecord): Effect.Effect<boolean> {
    const { process } = record
    if (process === null || !isAlive(process)) return Effect.succeed(false)
    const known = this.live.get(record.sandboxId)
    if (known !== undefined && known.machine.process.pid === process.pid && !known.expected) return Effect.succeed(true)
    return connectMachine(folder, process).pipe(
      Effect.tap((machine) => Effect.sync(() => this.attach(record, machine))),
      Effect.as(true),
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.as(Effect.logWarning(`Sandbox ${record.sandboxId} runs and does not answer: ${message}`), false)
      )
    )
  }

  adoptOrReport(folder: SandboxFolder): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const record = yield* Effect.promise(() => folder.read())
      if (record === null || record.state !== "running") return
      if (yield* this.adopted(folder, record)) return
      if (record.process !== null && isAlive(record.process)) return
      this.report(record, "CRASHED", "The machine ended while the service was not running.")
    })
  }

  /** Gives a machine whose way out of its network namespace has died another one. Until then it reaches nothing. */
  mendNetwork(folder: SandboxFolder, live: LiveMachine): Effect.Effect<void> {
    const { record, machine } = live
    return Effect.gen({ self: this }, function* () {
      if (this.live.get(record.sandboxId) !== live || !hasLostNetwork(live)) return
      const lifeFd = yield* attempt("finding a machine's life pipe", () => reopenLifePipe(machine.process, LIFE_FD))
      const network = yield* networkFor({ process: machine.process, lifeFd })
      live.record = { ...record, network }
      yield* attempt("writing a record", () => folder.write(live.record))
      yield* Effect.logWarning(`The network of Sandbox ${record.sandboxId} had died and was started anew.`)
    }).pipe(
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.logWarning(`The network of Sandbox ${record.sandboxId} has died: ${message}`)
      )
    )
  }

  /** QEMU closed its control socket: it is gone, or as good as. */
  private async ended(live: LiveMachine): Promise<void> {
    const { record, machine } = live
    if (this.live.get(record.sandboxId) === live) this.live.delete(record.sandboxId)
    machine.boot.close()
    if (live.expected) return
    // A QEMU that lost its control socket and lives cannot be managed any more.
    if (!(await goneWithin(() => isAlive(machine.process), 1_000))) signal(machine.process, "SIGKILL")
    await goneWithin(() => isAlive(machine.process), 5_000)
    if (live.expected) return
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
}

export const hasLostNetwork = ({ record, expected }: LiveMachine): boolean =>
  !expected && record.network !== null && !isAlive(record.network)

/** The process that is the way out of a machine's network namespace; null when it has none. Closes the life pipe. */
export const networkFor = ({
  process,
  lifeFd
}: Pick<Launched, "process" | "lifeFd">): Effect.Effect<ProcessIdentity | null, RuntimeUnavailable> => {
  if (lifeFd === null) return Effect.succeed(null)
  return attempt("connecting a machine's network", () =>
    connectNetwork({ pid: process.pid, throughUserNamespace: false, lifeFd })
  ).pipe(Effect.ensuring(Effect.sync(() => closeSync(lifeFd))))
}
