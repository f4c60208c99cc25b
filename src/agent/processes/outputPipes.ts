/**
 * Makes real pipes for stdout and stderr.
 *
 * Node's own `stdio: "pipe"` is a socket pair, on which `/dev/stdout` and `/dev/stderr` cannot be opened (`tee /dev/stderr` fails). A FIFO that is
 * opened at both ends and unlinked is a pipe. Node cannot make one, so `mkfifo` makes them in batches in advance.
 */
import { spawn } from "node:child_process"
import { closeSync, constants, fchownSync, mkdirSync, openSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { ownProgram } from "../ownProgram.ts"

/** Each command takes two. Starting `mkfifo` costs as much as a command itself, the pipes hardly anything. */
const BATCH = 128
const LOW = 16
/** The Sandbox may have no free process slot for a moment. */
const REFILL_TRIES_MAX = 3

export interface OutputPipe {
  /** Non-blocking, for the agent. */
  readonly readFd: number
  /** Blocking, for the child. Close it after the spawn. */
  readonly writeFd: number
}

export interface PipeOwner {
  readonly uid: number
  readonly gid: number
}

export class OutputPipes {
  private readonly ready: Array<string> = []
  private made = 0
  private batch: Promise<void> | null = null
  private readonly folder: string
  private readonly owner: PipeOwner | null
  /** Runs one of the agent's own programs; the caller separates its pid from the customer's processes. */
  private readonly runOwn: (argv: readonly [string, ...Array<string>]) => Promise<void>

  constructor(
    folder: string,
    owner: PipeOwner | null,
    runOwn: (argv: readonly [string, ...Array<string>]) => Promise<void>
  ) {
    this.folder = folder
    this.owner = owner
    this.runOwn = runOwn
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /** Makes the first batch, so that the first command that needs a pipe does not wait for it. */
  prepare(): void {
    this.refill().catch(() => {})
  }

  /** Reserves pipes for one command. */
  async reserve(count: number): Promise<ReadonlyArray<string>> {
    for (let tries = 1; this.ready.length < count; tries++) {
      try {
        await this.refill()
      } catch (cause) {
        if (tries === REFILL_TRIES_MAX) throw cause
      }
    }
    const reserved = this.ready.splice(-count)
    if (this.ready.length < LOW) this.refill().catch(() => {})
    return reserved
  }

  /** Opens a reserved pipe, which then has no name any more. */
  open(path: string): OutputPipe {
    try {
      return this.openNamed(path)
    } finally {
      unlinkSync(path)
    }
  }

  /** Opens a pipe that another process will open too; the caller removes the name. */
  openNamed(path: string): OutputPipe {
    const readFd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const writeFd = openSync(path, constants.O_WRONLY)
      if (this.owner !== null) fchownSync(writeFd, this.owner.uid, this.owner.gid)
      return { readFd, writeFd }
    } catch (cause) {
      closeSync(readFd)
      throw cause
    }
  }

  private refill(): Promise<void> {
    this.batch ??= this.makeBatch()
    return this.batch
  }

  private async makeBatch(): Promise<void> {
    const paths = Array.from({ length: BATCH }, () => join(this.folder, `pipe-${process.pid}-${this.made++}`))
    try {
      await this.runOwn([...ownProgram("mkfifo"), "-m", "600", ...paths])
      this.ready.push(...paths)
    } finally {
      this.batch = null
    }
  }
}

/** Runs a program to its successful end, without output. */
export const runToEnd = (argv: readonly [string, ...Array<string>], spawned: (pid: number) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(argv[0], argv.slice(1), { stdio: "ignore" })
    if (child.pid !== undefined) spawned(child.pid)
    child.on("error", reject)
    child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${argv[0]} ended with ${code}`))))
  })
