/**
 * Every command that the agent knows, by the service's key: running ones, and finished ones until they are forgotten.
 *
 * Bounded in number and in bytes; past the bound the oldest finished commands go first, those whose output was all acknowledged before the others.
 */
import { Refusal } from "../routes.ts"
import { RUNNING_MAX } from "../wire.ts"
import { type CommandHost, CommandProcess, type CommandSpec } from "./CommandProcess.ts"

const KNOWN_MAX = 1_024
/** Keys whose command is over for good; a start that comes late, on another connection perhaps, finds it here. */
const ENDED_MAX = 16_384
/** How often background processes of finished commands are looked for. */
const SWEEP_MS = 5_000
/** A command that is forgotten before it has ended is ended, tree and all; what one left behind that ended by itself goes on, as with sshd. */
const FORGET_GRACE_MS = 2_000

export class ProcessTable {
  private readonly commands = new Map<string, CommandProcess>()
  private readonly starting = new Map<string, Promise<CommandProcess>>()
  /** Forgotten, but not all of their processes have ended. */
  private readonly lingering = new Set<CommandProcess>()
  private readonly ended = new Set<string>()
  private sweeper: NodeJS.Timeout | null = null
  private readonly host: CommandHost

  constructor(host: CommandHost) {
    this.host = host
  }

  /** Starts the command, or returns the one that this key already has. Null: it was killed or forgotten before, and stays so. */
  async start(key: string, spec: CommandSpec): Promise<CommandProcess | null> {
    if (this.ended.has(key)) return null
    const known = this.commands.get(key) ?? this.starting.get(key)
    if (known !== undefined) return known
    if (this.runningCount() >= RUNNING_MAX) {
      throw new Refusal(409, "TOO_MANY_PROCESSES", `${RUNNING_MAX} commands are running`)
    }
    const starting = CommandProcess.start(key, spec, this.host)
    this.starting.set(key, starting)
    try {
      const command = await starting
      this.commands.set(key, command)
      command.listeners.add(() => this.changed(command))
      this.changed(command)
      this.evict()
      return command
    } finally {
      this.starting.delete(key)
    }
  }

  /** Throws a 404 Refusal for a key that is not known. */
  get(key: string): CommandProcess {
    const command = this.commands.get(key)
    if (command === undefined) throw new Refusal(404, "PROCESS_UNKNOWN", "No such process")
    return command
  }

  /** Also one that is just being started. A key that is not known will never start. Throws a 404 Refusal for it. */
  async kill(key: string, graceMs: number): Promise<void> {
    const command = this.commands.get(key) ?? (await this.starting.get(key)?.catch(() => undefined))
    if (command === undefined) this.end(key)
    else command.kill(graceMs)
    this.get(key)
  }

  private end(key: string): void {
    this.ended.add(key)
    for (const oldest of this.ended) {
      if (this.ended.size <= ENDED_MAX) return
      this.ended.delete(oldest)
    }
  }

  acknowledge(key: string, upTo: { readonly stdoutOffset: number; readonly stderrOffset: number }): void {
    this.get(key).acknowledge(upTo)
    // The bound over all buffers may have held others back.
    for (const command of this.commands.values()) if (command.exit === null) command.wake()
  }

  forget(key: string): void {
    this.end(key)
    this.starting.get(key)?.then(
      () => this.forget(key),
      () => {}
    )
    const command = this.commands.get(key)
    if (command === undefined) return
    this.commands.delete(key)
    if (!command.hasEnded) command.kill(FORGET_GRACE_MS)
    command.discard()
    if (command.treeAlive) this.linger(command)
  }

  list(): ReadonlyArray<{ readonly key: string; readonly running: boolean }> {
    return [...this.commands.values()].map(({ key, running }) => ({ key, running }))
  }

  /** The keys of all commands of which processes may be left, forgotten ones too, by the names of their trees. */
  keysOfTrees(): ReadonlyMap<string, string> {
    const alive = [...this.lingering, ...this.commands.values()].filter(({ treeAlive }) => treeAlive)
    return new Map(alive.map(({ treeName, key }) => [treeName, key]))
  }

  private runningCount(): number {
    let count = this.starting.size
    for (const command of this.commands.values()) if (command.running) count++
    return count
  }

  private changed(command: CommandProcess): void {
    if (command.settled !== null && command.treeAlive) this.linger(command)
  }

  private linger(command: CommandProcess): void {
    this.lingering.add(command)
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS)
  }

  private sweep(): void {
    for (const command of this.lingering) {
      command.sweep()
      if (!command.treeAlive) this.lingering.delete(command)
    }
    if (this.lingering.size > 0 || this.sweeper === null) return
    clearInterval(this.sweeper)
    this.sweeper = null
  }

  private evict(): void {
    const overfull = () => this.commands.size > KNOWN_MAX || this.host.retained.total > this.host.retained.max
    if (!overfull()) return
    const finished = [...this.commands.values()].filter((it) => !it.running)
    const kept = (it: CommandProcess) => it.stdout.retainedBytes + it.stderr.retainedBytes > 0
    for (const command of [...finished.filter((it) => !kept(it)), ...finished.filter(kept)]) {
      if (!overfull()) return
      this.forget(command.key)
    }
  }
}
