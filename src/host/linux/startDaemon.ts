/**
 * Starts a program that outlives the service: bubblewrap, slirp4netns or QEMU.
 *
 * As root by the spawner, which takes the program's descriptors out of the service: a fork of a service of 300 MB stops it for 34 ms, for each program of
 * each Sandbox. Otherwise, and where the spawner cannot (no x86-64, no pidfd_getfd(2)), by Node, which forks.
 */
import { spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import type { Readable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { OWN_OUTPUT } from "../../platform/spawner/spawnerWire.ts"
import { hasSpawner, spawned } from "./HostSpawner.ts"
import { inheritedDescriptors } from "./inheritedDescriptors.ts"
import { identify, isAlive, type ProcessIdentity } from "./ProcessIdentity.ts"

export interface DaemonOptions {
  /** For messages. */
  readonly name: string
  readonly argv: readonly [string, ...ReadonlyArray<string>]
  readonly cwd: string
  /** The cgroup v2 in which it starts, and its arguments where it cannot: then it moves by itself, for which it waits some 10 ms. */
  readonly cgroup?: { readonly folder: string; readonly argvOutside: DaemonOptions["argv"] } | null
  readonly env: Readonly<Record<string, string>>
  /** Descriptors of this process, by their numbers in the program, which has no others. The caller closes them afterwards. */
  readonly inherits: Readonly<Record<number, number>>
  /** The number of a descriptor on which the program writes when it is ready. */
  readonly readyBy?: number
  /** What it writes to standard error is kept. For a program that ignores SIGPIPE: the service may end first. */
  readonly keepsErrors?: boolean
}

export interface DaemonEnd {
  /** Its exit code, or the signal that ended it. */
  readonly status: string
  /** The end of what it wrote to standard error. */
  readonly errors: string
}

export interface Daemon {
  readonly process: ProcessIdentity
  readonly ended: Promise<DaemonEnd>
  /** Rejects when the program ends, or closes that descriptor, before it has written. */
  readonly ready: Promise<void>
}

const ERRORS_MAX_CHARACTERS = 2000
/** How often a program is looked at whose spawner has ended. */
const LOOK_MS = 1000

/** What is known of a program. */
class Told {
  #errors = ""
  #process: ProcessIdentity | null = null
  readonly #ended = Promise.withResolvers<DaemonEnd>()
  readonly #ready = Promise.withResolvers<void>()

  constructor() {
    // It may reject before anything waits for it, or when nothing ever does.
    this.#ready.promise.catch(() => {})
  }

  readonly ready = (): void => this.#ready.resolve()
  readonly notReady = (): void => this.#ready.reject(new Error("it ended before it was ready"))

  readonly error = (bytes: Buffer): void => {
    this.#errors = (this.#errors + bytes.toString("utf8")).slice(-ERRORS_MAX_CHARACTERS)
  }

  readonly ended = (status: string): void => {
    this.notReady()
    this.#ended.resolve({ status, errors: this.#errors })
  }

  /** The spawner has ended. The program may go on. */
  readonly lost = async (): Promise<void> => {
    this.notReady()
    while (this.#process !== null && isAlive(this.#process)) await sleep(LOOK_MS, undefined, { ref: false })
    this.ended("an unknown status")
  }

  /** Throws when it has ended already. */
  async started(name: string, pid: number): Promise<Daemon> {
    this.#process = identify(pid)
    const ended = this.#ended.promise
    if (this.#process !== null) return { process: this.#process, ended, ready: this.#ready.promise }
    const { status, errors } = await ended
    throw new Error(`${name} ended immediately with ${status}${errors === "" ? "" : `: ${errors}`}`)
  }
}

/** Null when the spawner cannot start it: it does not run. */
export const bySpawner = async (options: DaemonOptions): Promise<Daemon | null> => {
  const { name, argv, cwd, env, readyBy } = options
  const told = new Told()
  const nothing = openSync("/dev/null", "r+")
  try {
    const pid = await new Promise<number | null>((resolve, reject) => {
      const ended = (code: number | null, signal: string | null) => {
        // If this comes before `started`, the program may run all the same. The driver then ends it by its mark, as after its own death.
        reject(new Error(`the spawner ended while ${name} was starting`))
        if (code !== null || signal !== null) told.ended(String(signal ?? code))
        else void told.lost()
      }
      const inherits = Object.entries(options.inherits).map(([to, from]) => [from, Number(to)] as const)
      const output = readyBy === undefined ? [] : [[OWN_OUTPUT, readyBy] as const]
      const errors = options.keepsErrors === true ? [] : [[nothing, 2] as const]
      const listener = {
        started: resolve,
        failed: () => resolve(null),
        output: (stream: string, bytes: Buffer) => (stream === "stdout" ? told.ready() : told.error(bytes)),
        ended
      }
      const cgroup = options.cgroup?.folder ?? null
      const daemon = { cwd, cgroup, inherits: [...output, [nothing, 1] as const, ...errors, ...inherits] }
      spawned(argv, env, null, listener, daemon).hold()
    })
    return pid === null ? null : await told.started(name, pid)
  } finally {
    closeSync(nothing)
  }
}

export const byNode = async (options: DaemonOptions): Promise<Daemon> => {
  const { cwd, env, readyBy } = options
  const argv = options.cgroup?.argvOutside ?? options.argv
  const told = new Told()
  const nothing = openSync("/dev/null", "r+")
  const stdio: Array<number | "ignore" | "pipe"> = [
    "ignore",
    "ignore",
    options.keepsErrors === true ? "pipe" : "ignore"
  ]
  for (const [to, from] of Object.entries(options.inherits)) stdio[Number(to)] = from
  if (readyBy !== undefined) stdio[readyBy] = "pipe"
  // Node cannot close an inherited descriptor in a child, only replace it.
  for (const fd of inheritedDescriptors) stdio[fd] ??= nothing
  for (let fd = 0; fd < stdio.length; fd++) stdio[fd] ??= "ignore"
  const [file, ...args] = argv
  const child = spawn(file, args, { cwd, env, detached: true, stdio })
  closeSync(nothing)
  child.on("exit", (code, signal) => told.ended(String(signal ?? code)))
  child.unref()
  const errors = child.stderr
  errors?.on("data", told.error)
  // The pipe would keep this process alive, and it ends with this process.
  if (errors !== null && "unref" in errors) (errors as unknown as { unref(): void }).unref()
  if (readyBy !== undefined) {
    const ready = (child.stdio as ReadonlyArray<unknown>)[readyBy] as Readable
    ready.on("error", () => {})
    ready.once("close", told.notReady)
    ready.once("data", () => {
      told.ready()
      ready.destroy()
    })
  }
  if (child.pid !== undefined) return told.started(options.name, child.pid)
  return new Promise((_, reject) => child.once("error", reject))
}

/** @throws When it does not start. */
export const startDaemon = async (options: DaemonOptions): Promise<Daemon> =>
  (hasSpawner && process.getuid?.() === 0 ? await bySpawner(options) : null) ?? (await byNode(options))
