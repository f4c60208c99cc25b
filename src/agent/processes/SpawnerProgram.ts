/**
 * Commands as children of a small program beside the agent, which starts them and reads their output in a fraction of Node's time.
 *
 * @source src/host/linux/native/spawner.c: the form of requests and events
 */
import { spawn } from "node:child_process"
import { constants } from "node:os"
import type { Writable } from "node:stream"
import {
  creditRequest,
  forgetRequest,
  REQUEST_MAX_BYTES,
  SpawnerEvent,
  SpawnerEvents,
  startRequest,
  statusOf
} from "../../platform/spawner/spawnerWire.ts"
import { ownProgram } from "../ownProgram.ts"
import type { OutputBuffer } from "./OutputBuffer.ts"
import { type Launch, type Launched, type LaunchRequest, type Output, ProcessEnd } from "./ProcessLaunch.ts"
import { type ProcessTrees, signalPid } from "./ProcessTree.ts"
import { signalName } from "./signals.ts"

/** The stage of a failure caused by the working directory. */
const AT_FOLDER = 1
/** How many bytes of a stream the program may send before it gets more credit. */
const CREDIT_BYTES = 64 * 1024

const errorNames = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]))

const errnoException = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code })

const endOf = (status: number): readonly [number | null, string | null] => {
  const { code, signal } = statusOf(status)
  return [code, code === null ? signalName(signal) : null]
}

const requestOf = (id: number, { argv, cwd, env, runAs, tree, stdin, unwaited }: LaunchRequest): Buffer =>
  startRequest({
    ...{ id, cwd, env, creditBytes: CREDIT_BYTES, argv: tree.wrap(argv) },
    runAs: runAs ?? null,
    unwaited: unwaited === true,
    cgroup: tree.threadsFile ?? null,
    input: typeof stdin === "object" ? stdin.path : null
  })

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
  private readonly events = new SpawnerEvents((...event) => this.happened(...event))

  constructor(requests: Writable) {
    this.requests = requests
  }

  async launch(request: LaunchRequest, output: Output): Promise<Launched> {
    this.lastId = (this.lastId % 0x7fffffff) + 1
    const id = this.lastId
    const bytes = requestOf(id, request)
    if (bytes.length > REQUEST_MAX_BYTES) throw errnoException("E2BIG")
    const grant = (stream: number, more: number) => {
      this.requests.write(creditRequest(id, stream, more))
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
        if (this.commands.delete(id)) this.requests.write(forgetRequest(id))
      }
    }
  }

  take(chunk: Buffer): void {
    this.events.take(chunk)
  }

  private happened(kind: number, id: number, value: number, second: number, payload: Buffer): void {
    const command = this.commands.get(id)
    if (command === undefined) return
    switch (kind) {
      case SpawnerEvent.started:
        command.started(value)
        return
      case SpawnerEvent.failed:
        this.commands.delete(id)
        command.failed(
          Object.assign(errnoException(errorNames.get(value) ?? `error ${value}`), { atFolder: second === AT_FOLDER })
        )
        return
      case SpawnerEvent.output:
        command.streams[value]?.take(payload)
        command.output.onProgress()
        return
      case SpawnerEvent.exited:
        command.exited = true
        command.end.set(...endOf(value))
        return
      case SpawnerEvent.drained:
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
const inheritingPreference = (path: string): readonly [string, ...Array<string>] => [
  ...ownProgram("sh"),
  "-c",
  'echo 500 > /proc/self/oom_score_adj; exec "$0"',
  path
]

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
