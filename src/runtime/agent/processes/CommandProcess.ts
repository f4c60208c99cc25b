/**
 * One command: its spawn, its two output streams, its end, and the end of its tree.
 *
 * @source src/runtime/Guest.ts `GuestProcesses`; contract-details.md "Processes"
 */
import { type ChildProcess, spawn } from "node:child_process"
import {
  accessSync,
  closeSync,
  constants,
  fchownSync,
  openSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { join } from "node:path"
import type { Writable } from "node:stream"
import { Refusal } from "../routes.ts"
import { OutputBuffer, type RetainedBytes } from "./OutputBuffer.ts"
import { OutputReader } from "./OutputReader.ts"
import type { OutputPipe, OutputPipes, PipeOwner } from "./outputPipes.ts"
import type { ProcessTree, ProcessTrees } from "./ProcessTree.ts"
import { resizeTerminal, type TerminalSize, terminalArgv } from "./terminal.ts"

const TIMEOUT_GRACE_MS = 2_000
/** How often a tree that is being ended is looked at. */
const KILL_POLL_MS = 20
const SECOND_LOOK_MS = 5
const PREFER_AGAIN_MS = 10
/** In thousandths of all memory, added to what a process uses. */
const COMMAND_OOM_SCORE = "500"
/** A tree that is not gone this long after KILL (a process stuck in the kernel) is reported as unconfirmed. */
const KILL_CONFIRM_MS = 5_000

export interface CommandSpec {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: Uint8Array | null
  readonly timeoutMs: number | null
  readonly output: { readonly mode: "window" | "head"; readonly bytes: number }
  /** Its input stays open (`stdin` is null then), on a terminal of its own if `terminal` is given. */
  readonly interactive?: { readonly terminal: TerminalSize | null }
}

export interface CommandHost {
  readonly trees: ProcessTrees
  readonly pipes: OutputPipes
  readonly retained: RetainedBytes
  /** Commands run as this user; null: as the agent's own. */
  readonly runAs: PipeOwner | null
  readonly defaultEnv: Readonly<Record<string, string>>
  /** For the agent's own files of a moment; not readable by commands when `runAs` is set. */
  readonly scratchDir: string
  /** Runs a program of the agent's own to its end. */
  readonly runOwn: (argv: readonly [string, ...Array<string>]) => Promise<void>
}

export interface Exit {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly startedAt: number
  readonly finishedAt: number
  readonly stdoutBytes: number
  readonly stderrBytes: number
}

export type TreeState = "running" | "gone" | "unconfirmed"

type SpawnFailure = Error & { readonly code?: string }

type Outcome = { readonly code: number | null; readonly signal: string | null; readonly finishedAt: number }

export class CommandProcess {
  readonly key: string
  readonly stdout: OutputBuffer
  readonly stderr: OutputBuffer
  readonly startedAt = Date.now()
  /** Set once all output of the command itself was read. */
  exit: Exit | null = null
  /** Set after `exit`, when what is left of the tree is known. */
  settled: TreeState | null = null
  /** Open input of an interactive command. */
  readonly input: Writable | null
  /** Called whenever there is more to tell a reader. */
  readonly listeners = new Set<() => void>()

  private readonly spawnFailure: Promise<SpawnFailure> | null
  private readonly tree: ProcessTree
  private readonly readers: ReadonlyArray<OutputReader>
  private readonly child: ChildProcess
  private readonly host: CommandHost
  private outcome: Outcome | null = null
  private timedOut = false
  private timeout: NodeJS.Timeout | null = null
  private readonly preference: NodeJS.Timeout
  private ending: { killAt: number; done: boolean; timer: NodeJS.Timeout | null } | null = null
  private disposed = false

  /** Throws a Refusal when the command cannot be started for a reason of the caller's. */
  static async start(key: string, spec: CommandSpec, host: CommandHost): Promise<CommandProcess> {
    checkDirectory(spec.cwd)
    const pipes = await host.pipes.reserve()
    const command = new CommandProcess(key, spec, host, pipes)
    const failure = await command.spawnFailure
    if (failure === null) return command
    const refusal = refusalOf(failure)
    if (refusal instanceof Refusal) {
      command.discard()
      command.dispose()
      throw refusal
    }
    command.notStarted(spec.argv[0]!, failure)
    return command
  }

  private constructor(key: string, spec: CommandSpec, host: CommandHost, pipes: readonly [string, string]) {
    this.key = key
    this.tree = host.trees.create()
    this.stdout = new OutputBuffer(spec.output.mode, spec.output.bytes, host.retained)
    this.stderr = new OutputBuffer(spec.output.mode, spec.output.bytes, host.retained)

    const opened: Array<number> = []
    const reading: Array<number> = []
    const pipe = (path: string) => {
      const { readFd, writeFd } = host.pipes.open(path)
      reading.push(readFd)
      opened.push(writeFd)
      return { readFd, writeFd }
    }
    let child: ChildProcess
    let out: OutputPipe
    let err: OutputPipe
    try {
      out = pipe(pipes[0])
      err = pipe(pipes[1])
      const stdin = spec.interactive ? "pipe" : spec.stdin === null ? "ignore" : stdinFile(spec.stdin, host)
      if (typeof stdin === "number") opened.push(stdin)
      child = this.spawn(spec, host, [stdin, out.writeFd, err.writeFd])
    } catch (cause) {
      for (const fd of [...opened, ...reading]) closeSync(fd)
      this.tree.dispose()
      throw refusalOf(cause)
    }
    for (const fd of opened) closeSync(fd)

    this.child = child
    this.host = host
    this.input = child.stdin
    // The command may end before it has read everything.
    child.stdin?.on("error", () => {})
    const progress = () => this.progress()
    this.readers = [
      new OutputReader(out.readFd, this.stdout, progress),
      new OutputReader(err.readFd, this.stderr, progress)
    ]
    child.on("exit", (code, signal) => this.ended(code, signal))
    // Its children inherit the preference, but the first may have been born before.
    this.preference = setTimeout(() => {
      for (const pid of this.tree.members()) preferForOutOfMemory(pid)
    }, PREFER_AGAIN_MS)
    this.spawnFailure = child.pid === undefined ? new Promise((resolve) => child.once("error", resolve)) : null
    child.on("error", () => {})
    if (spec.timeoutMs !== null) {
      this.timeout = setTimeout(() => {
        this.timedOut = true
        this.kill(TIMEOUT_GRACE_MS)
      }, spec.timeoutMs)
    }
  }

  /** True until the outcome is known to the last byte and the tree is settled. */
  get running(): boolean {
    return this.settled === null
  }

  /** True when processes of the tree may be left, after `settled` too. */
  get treeAlive(): boolean {
    return !this.disposed
  }

  acknowledge(upTo: { readonly stdoutOffset: number; readonly stderrOffset: number }): void {
    this.stdout.acknowledge(upTo.stdoutOffset)
    this.stderr.acknowledge(upTo.stderrOffset)
    this.wake()
  }

  /** Buffers may have room again. */
  wake(): void {
    for (const reader of this.readers) reader.wake()
  }

  /** TERM to the tree now, KILL after `graceMs`; a second call can only bring the KILL forward. */
  kill(graceMs: number): void {
    const killAt = Date.now() + graceMs
    if (this.ending !== null) {
      if (!this.ending.done) this.ending.killAt = Math.min(this.ending.killAt, killAt)
      return
    }
    if (this.disposed) return
    this.ending = { killAt, done: false, timer: null }
    if (graceMs > 0) this.tree.terminate()
    this.pursue()
  }

  /** To the command's own process. */
  signal(signal: NodeJS.Signals): void {
    if (this.outcome === null) this.child.kill(signal)
  }

  /** Of a command on a terminal. */
  resize(size: TerminalSize): void {
    if (this.outcome === null && this.child.pid !== undefined) {
      void resizeTerminal(this.child.pid, size, this.host.runOwn)
    }
  }

  /** Looks whether background processes that were left have ended by now. */
  sweep(): void {
    if (this.disposed || this.settled === null || (this.ending !== null && !this.ending.done)) return
    if (!this.tree.isEmpty()) return
    this.settled = "gone"
    this.dispose()
  }

  /** Keeps no output any more: what is still written is counted and dropped. */
  discard(): void {
    this.stdout.discard()
    this.stderr.discard()
    this.wake()
  }

  private spawn(spec: CommandSpec, host: CommandHost, stdio: Array<number | "ignore" | "pipe">): ChildProcess {
    const terminal = spec.interactive?.terminal ?? null
    const argv = terminal === null ? spec.argv : terminalArgv(spec.argv, terminal)
    const [file, ...args] = this.tree.wrap(argv) as [string, ...Array<string>]
    const child = this.tree.enter(() =>
      spawn(file, args, {
        cwd: spec.cwd,
        env: { ...host.defaultEnv, ...spec.env },
        detached: true,
        stdio,
        ...(host.runAs === null ? {} : { uid: host.runAs.uid, gid: host.runAs.gid })
      })
    )
    if (child.pid !== undefined) preferForOutOfMemory(child.pid)
    return child
  }

  private ended(code: number | null, signal: string | null): void {
    if (this.outcome !== null) return
    this.outcome = { code, signal, finishedAt: Date.now() }
    clearTimeout(this.preference)
    if (this.timeout !== null) clearTimeout(this.timeout)
    for (const reader of this.readers) reader.processExited()
    this.progress()
  }

  /** exec failed: what a shell would report. */
  private notStarted(program: string, cause: SpawnFailure): void {
    const missing = cause.code === "ENOENT"
    const text = missing ? "not found" : cause.code === "EACCES" ? "permission denied" : (cause.code ?? cause.message)
    this.stderr.append(Buffer.from(`${program}: ${text}\n`))
    this.ended(missing ? 127 : 126, null)
  }

  private progress(): void {
    if (this.outcome !== null && this.exit === null && this.readers.every((it) => it.drained)) {
      this.exit = {
        exitCode: this.outcome.signal === null ? this.outcome.code : null,
        signal: this.outcome.signal,
        timedOut: this.timedOut,
        startedAt: this.startedAt,
        finishedAt: this.outcome.finishedAt,
        stdoutBytes: this.stdout.end,
        stderrBytes: this.stderr.end
      }
      this.settle()
    }
    for (const listener of this.listeners) listener()
  }

  /** A tree that is not empty is looked at twice: the kernel may take a moment to count out the command that just ended. */
  private settle(secondLook = false): void {
    if (this.settled !== null || this.exit === null) return
    if (this.ending !== null && !this.ending.done) return
    if (this.tree.isEmpty()) {
      this.settled = "gone"
      this.dispose()
    } else if (!secondLook) {
      setTimeout(() => this.settle(true), SECOND_LOOK_MS)
      return
    } else {
      this.settled = this.ending === null ? "running" : "unconfirmed"
    }
    for (const listener of this.listeners) listener()
  }

  /** From TERM to the tree's end, one look at a time. */
  private pursue(): void {
    const ending = this.ending
    if (ending === null) return
    ending.timer = null
    const now = Date.now()
    const gone = now >= ending.killAt ? this.tree.kill() : this.tree.isEmpty()
    if (!gone && now < ending.killAt + KILL_CONFIRM_MS) {
      const waitMs = now < ending.killAt ? Math.min(KILL_POLL_MS, ending.killAt - now) : KILL_POLL_MS
      ending.timer = setTimeout(() => this.pursue(), waitMs)
      return
    }
    ending.done = true
    if (this.settled !== null) this.settled = gone ? "gone" : "unconfirmed"
    if (this.settled === "gone") this.dispose()
    if (this.outcome !== null) this.progress()
    this.settle()
  }

  private dispose(): void {
    if (this.disposed) return
    this.disposed = true
    for (const reader of this.readers) reader.destroy()
    this.tree.dispose()
  }
}

/**
 * Makes the command the kernel's choice before the agent when memory runs out. Not inherited from the agent, which would have to be that
 * choice itself while it forks: forking takes memory, and the agent was killed just then.
 */
const preferForOutOfMemory = (pid: number): void => {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, COMMAND_OOM_SCORE)
  } catch {
    // It has ended already.
  }
}

/** A file and not a pipe: end of file comes by itself, and `/dev/stdin` can be opened. */
const stdinFile = (bytes: Uint8Array, host: CommandHost): number => {
  const path = join(host.scratchDir, `stdin-${process.pid}-${process.hrtime.bigint()}`)
  const write = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(write, bytes, written)
    if (host.runAs !== null) fchownSync(write, host.runAs.uid, host.runAs.gid)
    return openSync(path, constants.O_RDONLY)
  } finally {
    closeSync(write)
    unlinkSync(path)
  }
}

const checkDirectory = (cwd: string): void => {
  try {
    if (!statSync(cwd).isDirectory()) throw new Refusal(409, "CWD_NOT_A_DIRECTORY", `${cwd} is not a directory`)
    accessSync(cwd, constants.X_OK)
  } catch (cause) {
    if (cause instanceof Refusal) throw cause
    const code = (cause as NodeJS.ErrnoException).code
    if (code === "ENOTDIR") throw new Refusal(409, "CWD_NOT_A_DIRECTORY", `${cwd} is not a directory`)
    throw new Refusal(409, "CWD_NOT_FOUND", `${cwd} does not exist or cannot be entered`)
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
