/**
 * The life of one command: its two output streams, its end, and the end of its tree.
 *
 * @source src/runtime/Guest.ts `GuestProcesses`; contract-details.md "Processes"
 */
import type { Writable } from "node:stream"
import type { CommandHost } from "./CommandHost.ts"
import { type CommandSpec, type Line, lineOf } from "./CommandSpec.ts"
import { type LaunchedCommand, launchCommand } from "./launchCommand.ts"
import type { OutputBuffer } from "./OutputBuffer.ts"
import type { Launched } from "./ProcessLaunch.ts"
import type { ProcessTree } from "./ProcessTree.ts"
import { type EndingPhase, TreeEnding } from "./TreeEnding.ts"
import { awaitDevice, resizeTerminal, type TerminalSize } from "./terminal.ts"

const TIMEOUT_GRACE_MS = 2_000
const SECOND_PASS_MS = 5

export interface Exit {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  /** It was killed, and the kernel killed a process of the Sandbox meanwhile because memory ran out. */
  readonly outOfMemory: boolean
  readonly startedAt: number
  readonly finishedAt: number
  readonly stdoutBytes: number
  readonly stderrBytes: number
}

export type TreeState = "running" | "gone" | "unconfirmed"

type Outcome = {
  readonly code: number | null
  readonly signal: string | null
  readonly outOfMemory: boolean
  readonly finishedAt: number
}

/** A command passes through these in their order. Only the tree of a settled one changes again. */
type Life =
  | { readonly name: "alive" }
  /** Its own process has ended; output of it is still read. */
  | { readonly name: "draining"; readonly outcome: Outcome }
  /** All its output was read; whether others of its tree live is not known yet. */
  | { readonly name: "exited"; readonly exit: Exit }
  | { readonly name: "settled"; readonly exit: Exit; readonly tree: TreeState }

type TimeLimit =
  | { readonly name: "none" }
  | { readonly name: "pending"; readonly timer: NodeJS.Timeout }
  | { readonly name: "passed" }

/** The exit code of `script` for a failure. */
const TERMINAL_FAILED_CODE = 1
/** The exit code with which a shell reports a kill. */
const KILLED_CODE = 128 + 9

export class CommandProcess {
  readonly key: string
  /** Null when it never waits. */
  readonly line: Line | null
  readonly stdout: OutputBuffer
  readonly stderr: OutputBuffer
  readonly startedAt: number
  /** Open input of an interactive command. */
  readonly input: Writable | null
  /** Called when there is more for a reader. */
  readonly listeners = new Set<() => void>()

  private readonly tree: ProcessTree
  /** Null when its program could not be executed. */
  private readonly process: Launched | null
  private readonly host: CommandHost
  private readonly isOnTerminal: boolean
  private readonly wasMemoryShort: () => boolean
  private life: Life = { name: "alive" }
  private timeLimit: TimeLimit = { name: "none" }
  /** Null: no one asked for the tree's end. */
  private ending: TreeEnding | null = null

  /** Throws a Refusal when the command cannot be started for a reason that the caller can fix. */
  static async start(key: string, spec: CommandSpec, host: CommandHost): Promise<CommandProcess> {
    let command: CommandProcess | null = null
    const launched = await launchCommand(spec, host, () => command?.progress())
    command = new CommandProcess(key, spec, host, launched)
    if (launched.process instanceof Error) command.notStarted(spec.argv[0]!, launched.process)
    return command
  }

  private constructor(key: string, spec: CommandSpec, host: CommandHost, launched: LaunchedCommand) {
    this.key = key
    this.line = lineOf(spec)
    this.host = host
    this.isOnTerminal = spec.interactive !== undefined && spec.interactive.terminal !== null
    this.startedAt = launched.startedAt
    this.wasMemoryShort = launched.wasMemoryShort
    this.tree = launched.tree
    this.process = launched.process instanceof Error ? null : launched.process
    this.input = this.process?.input ?? null
    this.stdout = launched.stdout
    this.stderr = launched.stderr
    if (spec.timeoutMs !== null) {
      const timer = setTimeout(() => {
        this.timeLimit = { name: "passed" }
        this.kill(TIMEOUT_GRACE_MS)
      }, spec.timeoutMs)
      this.timeLimit = { name: "pending", timer }
    }
    this.process?.onEnd((code, signal) => this.ended(code, signal))
  }

  /** Null until all output of the command itself was read. */
  get exit(): Exit | null {
    return this.life.name === "exited" || this.life.name === "settled" ? this.life.exit : null
  }

  /** Null until, after `exit`, the state of the rest of the tree is known. */
  get settled(): TreeState | null {
    return this.life.name === "settled" ? this.life.tree : null
  }

  /** True until the outcome is known to the last byte and the tree is settled. */
  get running(): boolean {
    return this.settled === null
  }

  /** Its own process has ended; its output and its tree may still be checked. */
  get hasEnded(): boolean {
    return this.life.name !== "alive"
  }

  /** True when processes of the tree may be left, even after `settled`. */
  get treeAlive(): boolean {
    return this.settled !== "gone"
  }

  /** The name of the tree. */
  get treeName(): string {
    return this.tree.name
  }

  acknowledge(upTo: { readonly stdoutOffset: number; readonly stderrOffset: number }): void {
    this.stdout.acknowledge(upTo.stdoutOffset)
    this.stderr.acknowledge(upTo.stderrOffset)
    this.wake()
  }

  /** Called when buffers may have room again. */
  wake(): void {
    this.process?.wake()
  }

  /** Sends TERM to the tree now and hangs up its terminal; sends KILL after `graceMs`. A second call can only bring the KILL forward. */
  kill(graceMs: number): void {
    if (!this.treeAlive) return
    if (this.ending !== null) {
      this.ending.hasten(graceMs)
      return
    }
    this.ending = new TreeEnding(this.tree, graceMs, (before) => this.treeChecked(before))
    if (graceMs > 0) {
      // A shell at its prompt ignores TERM. Killing the program at the other end closes its terminal, and the kernel then sends the shell HUP.
      if (this.isOnTerminal) this.signal("SIGKILL")
      this.tree.terminate()
    }
    this.ending.check()
  }

  /** Sends a signal to the command's own process. */
  signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.process?.signal(signal)
  }

  /** Sizes the terminal of a command that has one. */
  async resize(size: TerminalSize): Promise<void> {
    const device = await this.device()
    if (device !== null) await resizeTerminal(device, size, this.host.runOwn)
  }

  /** Whether a command on a terminal got it. Called soon after its start. False when none could be made, and nothing ran. */
  async hasTerminal(): Promise<boolean> {
    if (this.process === null || (await this.device()) !== null || this.exit === null) return true
    // The program that makes the terminal reports a failure on stderr; the command on the terminal cannot write there.
    const { exitCode, stdoutBytes, stderrBytes } = this.exit
    return exitCode !== TERMINAL_FAILED_CODE || stdoutBytes > 0 || stderrBytes === 0
  }

  private async device(): Promise<string | null> {
    if (this.process === null || !this.isOnTerminal) return null
    return awaitDevice(this.process.pid, () => this.exit !== null)
  }

  /** Checks whether remaining background processes have ended. */
  sweep(): void {
    if (this.life.name !== "settled" || !this.treeAlive || this.ending !== null) return
    if (this.tree.isEmpty()) this.settleAs(this.life.exit, "gone")
  }

  /** Keeps no output any more: further output is counted and dropped. */
  discard(): void {
    this.stdout.discard()
    this.stderr.discard()
    this.wake()
  }

  private ended(code: number | null, signal: string | null): void {
    if (this.hasEnded) return
    const wasKilled = signal === "SIGKILL" || code === KILLED_CODE
    const outOfMemory = wasKilled && this.ending === null && this.wasMemoryShort()
    this.life = { name: "draining", outcome: { code, signal, outOfMemory, finishedAt: Date.now() } }
    if (this.timeLimit.name === "pending") clearTimeout(this.timeLimit.timer)
    this.progress()
  }

  /** exec failed: reports what a shell would. */
  private notStarted(program: string, cause: NodeJS.ErrnoException): void {
    const missing = cause.code === "ENOENT"
    const text = missing ? "not found" : cause.code === "EACCES" ? "permission denied" : (cause.code ?? cause.message)
    this.stderr.append(Buffer.from(`${program}: ${text}\n`))
    this.ended(missing ? 127 : 126, null)
  }

  private progress(): void {
    if (this.life.name === "draining" && (this.process?.isDrained() ?? true)) {
      this.life = { name: "exited", exit: this.exitOf(this.life.outcome) }
      this.settle()
    }
    for (const listener of this.listeners) listener()
  }

  private exitOf({ code, signal, outOfMemory, finishedAt }: Outcome): Exit {
    return {
      exitCode: signal === null ? code : null,
      signal,
      timedOut: this.timeLimit.name === "passed",
      outOfMemory,
      startedAt: this.startedAt,
      finishedAt,
      stdoutBytes: this.stdout.end,
      stderrBytes: this.stderr.end
    }
  }

  /** A tree that is not empty is checked twice: the kernel may take a moment to remove the ended command from the count. */
  private settle(isSecondPass = false): void {
    if (this.life.name !== "exited" || this.ending?.phase === "confirming") return
    if (this.process?.isAlone() || this.tree.isEmpty()) this.settleAs(this.life.exit, "gone")
    else if (isSecondPass) this.settleAs(this.life.exit, this.ending === null ? "running" : "unconfirmed")
    else {
      setTimeout(() => this.settle(true), SECOND_PASS_MS)
      return
    }
    for (const listener of this.listeners) listener()
  }

  private treeChecked(before: EndingPhase): void {
    const { life, ending } = this
    if (life.name === "settled") this.settleAs(life.exit, ending?.phase === "gone" ? "gone" : "unconfirmed")
    if (before !== "confirming") return
    if (this.hasEnded) this.progress()
    this.settle()
  }

  /** An empty tree is released. */
  private settleAs(exit: Exit, tree: TreeState): void {
    const wasAlive = this.treeAlive
    this.life = { name: "settled", exit, tree }
    if (tree !== "gone" || !wasAlive) return
    this.process?.dispose()
    this.tree.dispose()
  }
}
