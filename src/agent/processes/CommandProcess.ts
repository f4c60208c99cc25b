/**
 * One command: its spawn, its two output streams, its end, and the end of its tree.
 *
 * @source src/runtime/Guest.ts `GuestProcesses`; contract-details.md "Processes"
 */
import { closeSync, constants, fchownSync, openSync, unlinkSync, writeSync } from "node:fs"
import { join } from "node:path"
import type { Writable } from "node:stream"
import { Refusal } from "../routes.ts"
import { OutputBuffer, type RetainedBytes } from "./OutputBuffer.ts"
import type { PipeOwner } from "./outputPipes.ts"
import type { InputFile, Launch, Launched, LaunchFailure, LaunchRequest } from "./ProcessLaunch.ts"
import type { ProcessTree, ProcessTrees } from "./ProcessTree.ts"
import { awaitDevice, resizeTerminal, type TerminalSize, terminalArgv } from "./terminal.ts"
import { folderRefusal } from "./workingDirectory.ts"

const TIMEOUT_GRACE_MS = 2_000
/** The first and the longest interval between two checks of a tree that is being ended. */
const KILL_POLL_MS = 20
const KILL_POLL_MAX_MS = 1_000
const SECOND_PASS_MS = 5
/** A tree that still exists this long after KILL (a process stuck in the kernel) is reported as unconfirmed; KILL is repeated until it is gone. */
const KILL_CONFIRM_MS = 5_000

export interface CommandSpec {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: Uint8Array | null
  readonly timeoutMs: number | null
  readonly output: { readonly mode: "window" | "head"; readonly bytes: number }
  /** The caller waits for its end and does not use its start. */
  readonly unwaited?: boolean
  /** If set, the command waits: while this many commands with this field run, and while there is no room at all. */
  readonly turnsMax?: number
  /** If set, the command is an execute: it waits at most this long while the maximum number of executes run, for all callers. */
  readonly waitMs?: number
  /** If set, its input stays open (`stdin` is then null), on its own terminal if `terminal` is given. */
  readonly interactive?: { readonly terminal: TerminalSize | null }
}

/** The two queues of waiting commands. */
export type Line = "operations" | "executes"

export const lineOf = ({ turnsMax, waitMs }: CommandSpec): Line | null => {
  if (turnsMax !== undefined) return "operations"
  return waitMs === undefined ? null : "executes"
}

export interface CommandHost {
  readonly trees: ProcessTrees
  /** For commands without an open input. */
  readonly launch: Launch
  /** For interactive commands. */
  readonly launchInteractive: Launch
  readonly retained: RetainedBytes
  /** Commands run as this user; null: the agent's own. */
  readonly runAs: PipeOwner | null
  readonly defaultEnv: Readonly<Record<string, string>>
  /** For short-lived files of the agent; not readable by commands when `runAs` is set. */
  readonly scratchDir: string
  /** See memoryKills.ts. */
  readonly memoryKills: () => number
  /** Runs one of the agent's own programs to its end. */
  readonly runOwn: (argv: readonly [string, ...Array<string>]) => Promise<void>
}

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
  /** Set once all output of the command itself was read. */
  exit: Exit | null = null
  /** Set after `exit`, when the state of the rest of the tree is known. */
  settled: TreeState | null = null
  /** Open input of an interactive command. */
  readonly input: Writable | null
  /** Called when there is more for a reader. */
  readonly listeners = new Set<() => void>()

  private readonly tree: ProcessTree
  /** Null when its program could not be executed. */
  private readonly process: Launched | null
  private readonly host: CommandHost
  private readonly isOnTerminal: boolean
  /** The counter before it started. */
  private readonly memoryKills: number
  private outcome: Outcome | null = null
  private timedOut = false
  private timeout: NodeJS.Timeout | null = null
  /** `isReported`: the result was reported, though the ending may still continue. */
  private ending: { killAt: number; isReported: boolean; waitMs: number; timer: NodeJS.Timeout | null } | null = null
  private disposed = false

  /** Throws a Refusal when the command cannot be started for a reason that the caller can fix. */
  static async start(key: string, spec: CommandSpec, host: CommandHost): Promise<CommandProcess> {
    const startedAt = Date.now()
    const memoryKills = host.memoryKills()
    const tree = treeFor(host)
    const stdout = new OutputBuffer(spec.output.mode, spec.output.bytes, host.retained)
    const stderr = new OutputBuffer(spec.output.mode, spec.output.bytes, host.retained)
    let command: CommandProcess | null = null
    let stdin: LaunchRequest["stdin"] = "ignore"
    try {
      if (spec.interactive) stdin = "pipe"
      else if (spec.stdin !== null) stdin = stdinFile(spec.stdin, host)
      const terminal = spec.interactive?.terminal ?? null
      const launch = spec.interactive ? host.launchInteractive : host.launch
      const launched = await launch(
        {
          argv: terminal === null ? spec.argv : terminalArgv(spec.argv, terminal),
          cwd: spec.cwd,
          env: { ...host.defaultEnv, ...spec.env },
          runAs: host.runAs,
          tree,
          stdin,
          unwaited: spec.unwaited === true
        },
        { stdout, stderr, onProgress: () => command?.progress() }
      ).catch((cause: LaunchFailure) => {
        const refusal = cause.atFolder ? folderRefusal(spec.cwd, cause) : refusalOf(cause)
        if (refusal instanceof Refusal) throw refusal
        return cause
      })
      const process = launched instanceof Error ? null : launched
      command = new CommandProcess(key, spec, host, { startedAt, memoryKills, tree, stdout, stderr, process })
      if (launched instanceof Error) command.notStarted(spec.argv[0]!, launched)
      return command
    } catch (cause) {
      tree.dispose()
      throw refusalOf(cause)
    } finally {
      if (typeof stdin === "object") unlinkSync(stdin.path)
    }
  }

  private constructor(
    key: string,
    spec: CommandSpec,
    host: CommandHost,
    made: {
      readonly startedAt: number
      readonly memoryKills: number
      readonly tree: ProcessTree
      readonly stdout: OutputBuffer
      readonly stderr: OutputBuffer
      readonly process: Launched | null
    }
  ) {
    this.key = key
    this.line = lineOf(spec)
    this.host = host
    this.isOnTerminal = spec.interactive !== undefined && spec.interactive.terminal !== null
    this.startedAt = made.startedAt
    this.memoryKills = made.memoryKills
    this.tree = made.tree
    this.process = made.process
    this.input = made.process?.input ?? null
    this.stdout = made.stdout
    this.stderr = made.stderr
    if (spec.timeoutMs !== null) {
      this.timeout = setTimeout(() => {
        this.timedOut = true
        this.kill(TIMEOUT_GRACE_MS)
      }, spec.timeoutMs)
    }
    made.process?.onEnd((code, signal) => this.ended(code, signal))
  }

  /** True until the outcome is known to the last byte and the tree is settled. */
  get running(): boolean {
    return this.settled === null
  }

  /** Its own process has ended; its output and its tree may still be checked. */
  get hasEnded(): boolean {
    return this.outcome !== null
  }

  /** True when processes of the tree may be left, even after `settled`. */
  get treeAlive(): boolean {
    return !this.disposed
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
    if (this.disposed) return
    const killAt = performance.now() + graceMs
    if (this.ending === null) {
      this.ending = { killAt, isReported: false, waitMs: KILL_POLL_MS, timer: null }
      if (graceMs > 0) {
        // A shell at its prompt ignores TERM. Killing the program at the other end closes its terminal, and the kernel then sends the shell HUP.
        if (this.isOnTerminal) this.signal("SIGKILL")
        this.tree.terminate()
      }
    } else {
      this.ending.killAt = Math.min(this.ending.killAt, killAt)
      this.ending.waitMs = KILL_POLL_MS
      if (this.ending.timer !== null) clearTimeout(this.ending.timer)
    }
    this.pursue()
  }

  /** Sends a signal to the command's own process. */
  signal(signal: NodeJS.Signals): void {
    if (this.outcome === null) this.process?.signal(signal)
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
    if (this.disposed || this.settled === null || this.ending !== null) return
    if (!this.tree.isEmpty()) return
    this.settled = "gone"
    this.dispose()
  }

  /** Keeps no output any more: further output is counted and dropped. */
  discard(): void {
    this.stdout.discard()
    this.stderr.discard()
    this.wake()
  }

  private ended(code: number | null, signal: string | null): void {
    if (this.outcome !== null) return
    const wasKilled = signal === "SIGKILL" || code === KILLED_CODE
    const outOfMemory = wasKilled && this.ending === null && this.host.memoryKills() > this.memoryKills
    this.outcome = { code, signal, outOfMemory, finishedAt: Date.now() }
    if (this.timeout !== null) clearTimeout(this.timeout)
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
    if (this.outcome !== null && this.exit === null && (this.process?.isDrained() ?? true)) {
      this.exit = {
        exitCode: this.outcome.signal === null ? this.outcome.code : null,
        signal: this.outcome.signal,
        timedOut: this.timedOut,
        outOfMemory: this.outcome.outOfMemory,
        startedAt: this.startedAt,
        finishedAt: this.outcome.finishedAt,
        stdoutBytes: this.stdout.end,
        stderrBytes: this.stderr.end
      }
      this.settle()
    }
    for (const listener of this.listeners) listener()
  }

  /** A tree that is not empty is checked twice: the kernel may take a moment to remove the ended command from the count. */
  private settle(secondLook = false): void {
    if (this.settled !== null || this.exit === null) return
    if (this.ending !== null && !this.ending.isReported) return
    if (this.process?.isAlone() || this.tree.isEmpty()) {
      this.settled = "gone"
      this.dispose()
    } else if (!secondLook) {
      setTimeout(() => this.settle(true), SECOND_PASS_MS)
      return
    } else {
      this.settled = this.ending === null ? "running" : "unconfirmed"
    }
    for (const listener of this.listeners) listener()
  }

  /** Checks the tree from TERM to its end, as long as a process lives. */
  private pursue(): void {
    const ending = this.ending
    if (ending === null) return
    ending.timer = null
    const now = performance.now()
    const gone = now >= ending.killAt ? this.tree.kill() : this.tree.isEmpty()
    const isConfirming = !gone && now < ending.killAt + KILL_CONFIRM_MS
    if (!gone) {
      if (!isConfirming) ending.waitMs = Math.min(2 * ending.waitMs, KILL_POLL_MAX_MS)
      const waitMs = now < ending.killAt ? Math.min(KILL_POLL_MS, ending.killAt - now) : ending.waitMs
      ending.timer = setTimeout(() => this.pursue(), waitMs)
    }
    if (isConfirming) return
    if (this.settled !== null) this.settled = gone ? "gone" : "unconfirmed"
    if (this.settled === "gone") this.dispose()
    if (ending.isReported) return
    ending.isReported = true
    if (this.outcome !== null) this.progress()
    this.settle()
  }

  private dispose(): void {
    if (this.disposed) return
    this.disposed = true
    this.process?.dispose()
    this.tree.dispose()
  }
}

/** A file instead of a pipe: end of file comes by itself, and `/dev/stdin` can be opened. */
const stdinFile = (bytes: Uint8Array, host: CommandHost): InputFile => {
  const path = join(host.scratchDir, `stdin-${process.pid}-${process.hrtime.bigint()}`)
  const write = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(write, bytes, written)
    if (host.runAs !== null) fchownSync(write, host.runAs.uid, host.runAs.gid)
    return { path }
  } catch (cause) {
    unlinkSync(path)
    throw cause
  } finally {
    closeSync(write)
  }
}

/** A Sandbox may have used up its cgroups: then it has no room for a command, and nothing was run. */
const treeFor = ({ trees }: CommandHost): ProcessTree => {
  try {
    return trees.create()
  } catch (cause) {
    throw refusalOf(cause)
  }
}

const refusalOf = (cause: unknown): unknown => {
  switch ((cause as NodeJS.ErrnoException).code) {
    case "E2BIG":
      return new Refusal(409, "ARGUMENTS_TOO_LONG", "The arguments and the environment are too long for the kernel")
    case "EAGAIN":
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return new Refusal(409, "TOO_MANY_PROCESSES", "The Sandbox has no room for another process")
    default:
      return cause
  }
}
