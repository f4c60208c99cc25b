/**
 * Commands as children of a small program beside the agent, which starts them and reads their output in a fraction of Node's time.
 *
 * @source src/host/linux/native/spawner.c: the form of requests and events
 */
import { spawn } from "node:child_process"
import { constants } from "node:os"
import type { Writable } from "node:stream"
import type { OutputBuffer } from "./OutputBuffer.ts"
import { type Launch, type Launched, type LaunchRequest, type Output, ProcessEnd } from "./ProcessLaunch.ts"
import { type ProcessTrees, signalPid } from "./ProcessTree.ts"
import { signalName } from "./signals.ts"

const REQUEST_MAX_BYTES = 4 * 1024 * 1024
const Request = { start: 1, credit: 2, forget: 3 } as const
const EVENT_BYTES = 16
const Event = { started: 1, failed: 2, output: 3, exited: 4, drained: 5 } as const
const NONE = -1
/** The stage of a failure caused by the working directory. */
const AT_FOLDER = 1
/** How many bytes of a stream the program may send before it gets more credit. */
const CREDIT_BYTES = 64 * 1024

const errorNames = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))

const errnoException = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code })

/** @source waitpid(2): the low seven bits are the signal, the next byte the exit code */
const endOf = (status: number): readonly [number | null, string | null] => {
  const signal = status & 0x7f
  return signal === 0 ? [(status >> 8) & 0xff, null] : [null, signalName(signal)]
}

/** A request: its numbers, then its strings, padded to whole numbers. */
const encode = (numbers: ReadonlyArray<number>, strings: ReadonlyArray<string>): Buffer => {
  const text = Buffer.from(strings.map((string) => `${string}\0`).join(""))
  const bytes = Buffer.alloc(4 * (1 + numbers.length + Math.ceil(text.length / 4)))
  bytes.writeInt32LE(bytes.length - 4, 0)
  numbers.forEach((value, index) => bytes.writeInt32LE(value, 4 + 4 * index))
  text.copy(bytes, 4 * (1 + numbers.length))
  return bytes
}

const startRequest = (id: number, { argv, cwd, env, runAs, tree, stdin, unwaited }: LaunchRequest): Buffer => {
  const command = tree.wrap(argv)
  const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return encode(
    [
      Request.start,
      id,
      runAs?.uid ?? NONE,
      runAs?.gid ?? NONE,
      CREDIT_BYTES,
      unwaited ? 1 : 0,
      command.length,
      entries.length
    ],
    [tree.threadsFile ?? "", typeof stdin === "object" ? stdin.path : "", cwd, ...command, ...entries]
  )
}

/** One stream of one command: received bytes go into its buffer, and credit is returned while that has room. */
class ToldStream {
  private credit = CREDIT_BYTES
  private readonly buffer: OutputBuffer
  private readonly grant: (bytes: number) => void

  constructor(buffer: OutputBuffer, grant: (bytes: number) => void) {
    this.buffer = buffer
    this.grant = grant
  }

  take(bytes: Buffer): void {
    this.buffer.append(bytes)
    this.credit -= bytes.length
    this.wake()
  }

  wake(): void {
    if (this.credit > CREDIT_BYTES / 2 || this.buffer.isFull(CREDIT_BYTES)) return
    this.grant(CREDIT_BYTES - this.credit)
    this.credit = CREDIT_BYTES
  }
}

/** One command of the program. */
class ToldCommand {
  readonly end = new ProcessEnd()
  readonly streams: readonly [ToldStream, ToldStream]
  readonly output: Output
  readonly started: (pid: number) => void
  readonly failed: (error: Error) => void
  exited = false
  drained = false
  alone = false

  constructor(
    output: Output,
    grant: (stream: number, bytes: number) => void,
    outcome: { readonly started: (pid: number) => void; readonly failed: (error: Error) => void }
  ) {
    this.output = output
    this.streams = [
      new ToldStream(output.stdout, (bytes) => grant(0, bytes)),
      new ToldStream(output.stderr, (bytes) => grant(1, bytes))
    ]
    this.started = outcome.started
    this.failed = outcome.failed
  }
}

class SpawnerProgram {
  private readonly commands = new Map<number, ToldCommand>()
  private readonly requests: Writable
  private lastId = 0
  private rest: Buffer = Buffer.alloc(0)

  constructor(requests: Writable) {
    this.requests = requests
  }

  async launch(request: LaunchRequest, output: Output): Promise<Launched> {
    this.lastId = (this.lastId % 0x7fffffff) + 1
    const id = this.lastId
    const bytes = startRequest(id, request)
    if (bytes.length > REQUEST_MAX_BYTES) throw errnoException("E2BIG")
    const grant = (stream: number, more: number) => {
      this.requests.write(encode([Request.credit, id, stream, more], []))
    }
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const command = new ToldCommand(output, grant, { started: resolve, failed: reject })
    this.commands.set(id, command)
    this.requests.write(bytes)
    const pid = await promise
    request.tree.began(pid)
    return {
      pid,
      input: null,
      signal: (signal) => {
        // The program may have reaped it, and its report may still be on the way.
        if (!command.exited) signalPid(pid, signal)
      },
      onEnd: command.end.listen,
      isDrained: () => command.drained,
      isAlone: () => command.alone,
      wake: () => {
        if (!command.drained) for (const stream of command.streams) stream.wake()
      },
      dispose: () => {
        if (this.commands.delete(id)) this.requests.write(encode([Request.forget, id], []))
      }
    }
  }

  /** Reads the program's events. */
  take(chunk: Buffer): void {
    const bytes = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    let at = 0
    while (bytes.length - at >= EVENT_BYTES) {
      const kind = bytes.readInt32LE(at)
      const length = kind === Event.output ? bytes.readInt32LE(at + 12) : 0
      if (bytes.length - at < EVENT_BYTES + length) break
      const payload = bytes.subarray(at + EVENT_BYTES, at + EVENT_BYTES + length)
      this.happened(kind, bytes.readInt32LE(at + 4), bytes.readInt32LE(at + 8), bytes.readInt32LE(at + 12), payload)
      at += EVENT_BYTES + length
    }
    this.rest = bytes.subarray(at)
  }

  private happened(kind: number, id: number, value: number, second: number, payload: Buffer): void {
    const command = this.commands.get(id)
    if (command === undefined) return
    switch (kind) {
      case Event.started:
        command.started(value)
        return
      case Event.failed:
        this.commands.delete(id)
        command.failed(
          Object.assign(errnoException(errorNames.get(value) ?? `error ${value}`), { atFolder: second === AT_FOLDER })
        )
        return
      case Event.output:
        command.streams[value]?.take(payload)
        command.output.onProgress()
        return
      case Event.exited:
        command.exited = true
        command.end.set(...endOf(value))
        return
      case Event.drained:
        command.drained = true
        command.alone = second !== 0
        // Its pipes are closed, and the program has forgotten it.
        if (value !== 0) this.commands.delete(id)
        command.output.onProgress()
        return
    }
  }
}

/**
 * When memory runs out, the kernel should kill a command before the agent, so a command sets its own score before it executes its program. While it
 * runs on the memory of a sealed program, the kernel refuses that; then it inherits the score.
 */
const inheritingPreference = (path: string): readonly [string, ...Array<string>] =>
  [...["/bin/sh", "-c", 'echo 500 > /proc/self/oom_score_adj; exec "$0"'], path] as const

/**
 * Starts the program. `gone` is called when it ends by itself: the state of its commands is then unknown, and the agent must restart. `isSealed`: the
 * program may be executed but not read.
 */
export const openSpawnerProgram = (
  path: string,
  trees: Pick<ProcessTrees, "own" | "threadsFile">,
  gone: (cause: unknown) => void,
  isSealed = false
): { readonly launch: Launch; readonly close: () => void } => {
  const [file, ...args] = isSealed ? inheritingPreference(path) : [path]
  const child = spawn(file, args, { stdio: ["pipe", "pipe", "inherit"], detached: true })
  if (child.pid !== undefined) trees.own.add(child.pid)
  let closed = false
  child.on("error", gone)
  child.on("exit", (code, signal) => {
    if (!closed) gone(signal ?? code)
  })
  child.stdin.on("error", () => {})
  child.stdin.write(`${trees.threadsFile ?? ""}\n`)
  const program = new SpawnerProgram(child.stdin)
  child.stdout.on("data", (chunk: Buffer) => program.take(chunk))
  return {
    launch: (request, output) => program.launch(request, output),
    close: () => {
      closed = true
      child.stdin.end()
    }
  }
}
