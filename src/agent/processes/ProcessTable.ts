/**
 * All commands that the agent knows, by the service's key: running ones, and finished ones until they are forgotten.
 *
 * Bounded in number and in bytes. Past the bound, the oldest finished commands are dropped first; among them, those whose output was fully
 * acknowledged. While the maximum number of commands runs, a new command is refused or waits in a queue: an operation without limit, an execute for a
 * bounded time. The end of one command starts the next before any other event is handled.
 */
import { Refusal } from "../routes.ts"
import { EXECUTES_MAX, RUNNING_MAX } from "../wire.ts"
import type { CommandHost } from "./CommandHost.ts"
import { CommandProcess } from "./CommandProcess.ts"
import { type CommandSpec, type Line, lineOf } from "./CommandSpec.ts"
import type { StartedKeys } from "./StartedKeys.ts"

const KNOWN_MAX = 1_024
/** Keys whose command has ended for good. A late start, for example on another connection, is recognized by them. */
const ENDED_MAX = 16_384
/** How often the table checks for remaining background processes of finished commands. */
const SWEEP_MS = 5_000
/** A command that is forgotten before it has ended is ended with its tree. Background processes of a command that ended by itself continue, as with sshd. */
const FORGET_GRACE_MS = 2_000

const tooMany = (count: number) => new Refusal(409, "TOO_MANY_PROCESSES", `${count} commands are running`)

interface Starting {
  readonly command: Promise<CommandProcess>
  readonly line: Line | null
}

/** The service repeats the start of a command that it does not stay connected to. */
const isRepeatable = ({ unwaited, interactive }: CommandSpec): boolean => !unwaited && interactive === undefined

/** A command that waits until fewer than `most` commands of its queue run. */
interface Waiting {
  readonly key: string
  readonly line: Line
  readonly most: number
  readonly goOn: () => void
}

export class ProcessTable {
  private readonly commands = new Map<string, CommandProcess>()
  private readonly starting = new Map<string, Starting>()
  /** In order of arrival. */
  private readonly waiting = new Set<Waiting>()
  /** Forgotten commands that still have processes. */
  private readonly lingering = new Set<CommandProcess>()
  private readonly ended = new Set<string>()
  private sweeper: NodeJS.Timeout | null = null
  private readonly host: CommandHost
  private readonly started: StartedKeys

  constructor(host: CommandHost, started: StartedKeys) {
    this.host = host
    this.started = started
  }

  /**
   * Starts the command, or returns the command that this key already has. Null when it was killed or forgotten before, or started by an earlier
   * agent, which are final, or when it left the queue.
   *
   * @param leaves Called for a command that waits, with a function that removes it from the queue.
   */
  async start(
    key: string,
    spec: CommandSpec,
    leaves: (leave: () => void) => void = () => {}
  ): Promise<CommandProcess | null> {
    if (this.ended.has(key) || this.started.isEarlier(key)) return null
    const known = this.known(key)
    if (known !== undefined) return known
    const line = lineOf(spec)
    if (line !== "operations" && this.runningCount() >= RUNNING_MAX) throw tooMany(RUNNING_MAX)
    if (line === null) return this.begin(key, spec)
    const most = spec.turnsMax ?? EXECUTES_MAX
    if (this.hasTurn(line, most) && ![...this.waiting].some((other) => other.line === line))
      return this.begin(key, spec)
    return new Promise((resolve, reject) => {
      const goOn = () => {
        clearTimeout(timer)
        resolve(this.ended.has(key) ? null : (this.known(key) ?? this.begin(key, spec)))
      }
      const waiting = { key, line, most, goOn }
      const giveUp = () => {
        if (this.waiting.delete(waiting)) reject(tooMany(EXECUTES_MAX))
      }
      const timer = spec.waitMs === undefined ? undefined : setTimeout(giveUp, spec.waitMs)
      this.waiting.add(waiting)
      leaves(() => {
        clearTimeout(timer)
        if (this.waiting.delete(waiting)) resolve(null)
      })
    })
  }

  private known(key: string): CommandProcess | Promise<CommandProcess> | undefined {
    return this.commands.get(key) ?? this.starting.get(key)?.command
  }

  private async begin(key: string, spec: CommandSpec): Promise<CommandProcess> {
    if (isRepeatable(spec)) this.started.note(key)
    const starting = CommandProcess.start(key, spec, this.host)
    this.starting.set(key, { command: starting, line: lineOf(spec) })
    try {
      const command = await starting
      this.commands.set(key, command)
      command.listeners.add(() => this.changed(command))
      this.changed(command)
      this.evict()
      return command
    } catch (refusal) {
      this.started.drop(key)
      throw refusal
    } finally {
      this.starting.delete(key)
      this.nextTurns()
    }
  }

  /** Throws a 404 Refusal for an unknown key. */
  get(key: string): CommandProcess {
    const command = this.commands.get(key)
    if (command === undefined) throw new Refusal(404, "PROCESS_UNKNOWN", "No such process")
    return command
  }

  /** Also kills a command that is just being started. An unknown key will never start; throws a 404 Refusal for it. */
  async kill(key: string, graceMs: number): Promise<void> {
    const command = this.commands.get(key) ?? (await this.starting.get(key)?.command.catch(() => undefined))
    if (command === undefined) {
      this.end(key)
      this.nextTurns()
    } else command.kill(graceMs)
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
    // The bound over all buffers may have paused other commands.
    for (const command of this.commands.values()) if (command.exit === null) command.wake()
  }

  forget(key: string): void {
    this.end(key)
    this.started.drop(key)
    this.remove(key)
    this.nextTurns()
  }

  private remove(key: string): void {
    this.starting.get(key)?.command.then(
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

  /** The keys of all commands that may have processes, including forgotten ones, by the names of their trees. */
  keysOfTrees(): ReadonlyMap<string, string> {
    const alive = [...this.lingering, ...this.commands.values()].filter(({ treeAlive }) => treeAlive)
    return new Map(alive.map(({ treeName, key }) => [treeName, key]))
  }

  private runningCount(): number {
    let count = this.starting.size
    for (const command of this.commands.values()) if (command.running) count++
    return count
  }

  private hasTurn(line: Line, most: number): boolean {
    let running = 0
    for (const starting of this.starting.values()) if (starting.line === line) running++
    for (const command of this.commands.values()) if (command.running && command.line === line) running++
    return running < most && this.runningCount() < RUNNING_MAX
  }

  /** Called when a command has ended or is no longer wanted: starts the one that waits longest. */
  private nextTurns(): void {
    for (const waiting of this.waiting) {
      const { key, line, most, goOn } = waiting
      if (!this.ended.has(key) && this.known(key) === undefined && !this.hasTurn(line, most)) continue
      this.waiting.delete(waiting)
      goOn()
    }
  }

  private changed(command: CommandProcess): void {
    if (command.settled === null) return
    if (command.treeAlive) this.linger(command)
    this.nextTurns()
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
