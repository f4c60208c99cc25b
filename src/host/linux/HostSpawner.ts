/**
 * Runs the host's programs as children of a small process, the spawner. A service of 300 MB that forks stands still for 20 ms and then copies the pages
 * that it writes, for each program; the spawner's share is a millisecond, beside the service.
 *
 * It ends with the service. If it ends by itself, the commands that it had are told so, and the next command starts another one.
 *
 * @see native/spawner.c
 */
import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { accessSync, closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs"
import type { Socket } from "node:net"
import { constants as systemConstants, tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import {
  creditRequest,
  forgetRequest,
  inheritRequest,
  SpawnerEvent,
  SpawnerEvents,
  startRequest,
  statusOf
} from "../../platform/spawner/spawnerWire.ts"
import { inheritedDescriptors } from "./inheritedDescriptors.ts"

const PROGRAM = fileURLToPath(new URL("native/spawner.x64", import.meta.url))
const CREDIT_BYTES = 64 * 1024

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Whether this host can run it: else Node spawns. */
export const hasSpawner = process.arch === "x64" && process.platform === "linux" && isExecutable(PROGRAM)

const signalNames = new Map(Object.entries(systemConstants.signals).map(([name, number]) => [number, name]))
const errorNames = new Map(Object.entries(systemConstants.errno).map(([name, number]) => [number, name]))

export interface SpawnedListener {
  readonly started: (pid: number) => void
  /** It could not start. */
  readonly failed: (why: string) => void
  readonly output: (stream: "stdout" | "stderr", bytes: Buffer) => void
  /** It has ended, and all that it wrote has been told. Neither code nor signal: the spawner ended, and the program may go on. */
  readonly ended: (code: number | null, signal: string | null) => void
}

/** A program that outlives this process, and is as important as it when memory runs out. */
export interface SpawnedDaemon {
  readonly cwd: string
  /** The cgroup v2 in which it starts; null: the spawner's. */
  readonly cgroup: string | null
  /** Descriptors of this process or `OWN_OUTPUT`, and their numbers in the program. They stay open until it has started. */
  readonly inherits: ReadonlyArray<readonly [from: number, to: number]>
}

export interface Spawned {
  /** From now on this process does not end by itself before the command has, or a daemon has started. */
  readonly hold: () => void
}

interface Command extends SpawnedListener {
  code: number | null
  signal: string | null
  readonly isDaemon: boolean
  /** Descriptor of its input, until it has started. */
  input: number | null
}

/** A descriptor that reads these bytes from the start; the file has no name any more. */
const inputOf = (text: string): number => {
  const path = join(tmpdir(), `atoll-input-${randomBytes(12).toString("hex")}`)
  const fd = openSync(path, "wx+", 0o600)
  try {
    unlinkSync(path)
    const bytes = Buffer.from(text)
    for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
    return fd
  } catch (cause) {
    closeSync(fd)
    throw cause
  }
}

/** All that may hold the event loop. */
const handlesOf = (child: ChildProcess) => [child, child.stdin as Socket, child.stdout as Socket]

class HostSpawner {
  readonly #child: ChildProcess
  readonly #commands = new Map<number, Command>()
  /** For which this process waits. */
  readonly #held = new Set<number>()
  #lastId = 0

  constructor(ended: () => void) {
    const nothing = openSync("/dev/null", "r+")
    const stdio: Array<"pipe" | "ignore" | number> = ["pipe", "pipe", "ignore"]
    for (const fd of inheritedDescriptors) stdio[fd] = nothing
    for (let fd = 0; fd < stdio.length; fd++) stdio[fd] ??= "ignore"
    // Detached: Ctrl-C in a terminal is for the service, which still has commands to run then.
    this.#child = spawn(PROGRAM, [], { cwd: "/", env: {}, detached: true, stdio })
    closeSync(nothing)
    const gone = () => {
      ended()
      const left = [...this.#commands]
      for (const [id, command] of left) this.#forget(id, command)
      for (const [, command] of left) command.ended(null, null)
    }
    this.#child.once("error", gone)
    this.#child.once("exit", gone)
    this.#child.stdin!.on("error", () => {})
    this.#child.stdin!.write("\n")
    const events = new SpawnerEvents((...event) => this.#happened(...event))
    this.#child.stdout!.on("data", (chunk: Buffer) => events.take(chunk))
    for (const handle of handlesOf(this.#child)) handle.unref()
  }

  run(
    argv: ReadonlyArray<string>,
    env: Readonly<Record<string, string>>,
    input: string | null,
    listener: SpawnedListener,
    daemon: SpawnedDaemon | null = null
  ): Spawned {
    this.#lastId = (this.#lastId % 0x7fffffff) + 1
    const id = this.#lastId
    const fd = input === null || input === "" ? null : inputOf(input)
    this.#commands.set(id, { ...listener, code: null, signal: null, isDaemon: daemon !== null, input: fd })
    if (daemon !== null) this.#child.stdin!.write(inheritRequest(id, process.pid, daemon.inherits))
    this.#child.stdin!.write(
      startRequest({
        ...{ id, argv, env, runAs: null, creditBytes: CREDIT_BYTES, unwaited: false },
        cgroup: daemon?.cgroup ?? null,
        cwd: daemon?.cwd ?? "/",
        input: fd === null ? null : `/proc/${process.pid}/fd/${fd}`
      })
    )
    return {
      hold: () => {
        if (!this.#commands.has(id)) return
        if (this.#held.size === 0) for (const handle of handlesOf(this.#child)) handle.ref()
        this.#held.add(id)
      }
    }
  }

  #happened(kind: number, id: number, value: number, _second: number, payload: Buffer): void {
    const command = this.#commands.get(id)
    if (command === undefined) return
    switch (kind) {
      case SpawnerEvent.started:
        this.#closeInput(command)
        if (command.isDaemon) this.#letGo(id)
        command.started(value)
        return
      case SpawnerEvent.failed:
        this.#forget(id, command)
        command.failed(errorNames.get(value) ?? `error ${value}`)
        return
      case SpawnerEvent.output:
        this.#child.stdin!.write(creditRequest(id, value, payload.length))
        command.output(value === 0 ? "stdout" : "stderr", payload)
        return
      case SpawnerEvent.exited: {
        const { code, signal } = statusOf(value)
        command.code = code
        command.signal = code === null ? (signalNames.get(signal) ?? `signal ${signal}`) : null
        return
      }
      case SpawnerEvent.drained:
        // Another process may still have its pipes.
        if (value === 0) this.#child.stdin!.write(forgetRequest(id))
        this.#forget(id, command)
        command.ended(command.code, command.signal)
        return
    }
  }

  #closeInput(command: Command): void {
    if (command.input !== null) closeSync(command.input)
    command.input = null
  }

  #forget(id: number, command: Command): void {
    this.#closeInput(command)
    this.#commands.delete(id)
    this.#letGo(id)
  }

  #letGo(id: number): void {
    if (this.#held.delete(id) && this.#held.size === 0) for (const handle of handlesOf(this.#child)) handle.unref()
  }
}

let current: HostSpawner | null = null

/** Starts a program with this environment alone, in `/` if it is no daemon. */
export const spawned: HostSpawner["run"] = (...command) => {
  current ??= new HostSpawner(() => {
    current = null
  })
  return current.run(...command)
}
