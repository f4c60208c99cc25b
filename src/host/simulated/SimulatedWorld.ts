/**
 * The machines of the simulated runtime. They outlive the service, as real ones do, so a test keeps one world over many restarts. Nothing happens by
 * itself: a process ends when its program says so or when the test ends it.
 *
 * `intercept` runs before each call of the driver. It may wait (reordering), fail (a fault) or refuse (a limit).
 */

import type { Duplex } from "node:stream"
import { Effect, PubSub } from "effect"
import { type PublicText, publicText } from "../../../schemas/PublicText.ts"
import type { OutputStream, ProcessFrame, ProcessSpec } from "../../runtime/Guest.ts"
import type {
  ConsoleChunk,
  ImagePiece,
  RuntimeDown,
  RuntimeRefused,
  RuntimeStall,
  RuntimeUnavailable,
  SandboxSpec
} from "../../runtime/Runtime.ts"

export type SimulatedCall =
  | "turn"
  | "provision"
  | "stop"
  | "destroy"
  | "suspend"
  | "resize"
  | "inventory"
  | "capture"
  | "restore"
  | "removeSnapshot"
  | "pullImage"
  | "removeImage"
  | "receiveImage"
  | "acceptImage"
  | "readImage"
  | "storeImage"
  | "receive"
  | "accept"
  | "guest"
  | "start"
  | "attach"
  | "kill"

export type Intercept = (
  call: SimulatedCall,
  sandboxId: string
) => Effect.Effect<void, RuntimeUnavailable | RuntimeRefused>

/** The next actions of a simulated program. */
export interface SimulatedProgram {
  readonly output: ReadonlyArray<{ readonly stream: OutputStream; readonly bytes: Uint8Array }>
  /** Null: it runs until it is killed or the test ends it. */
  readonly exitCode: number | null
  readonly afterMs: number
}

const utf8 = new TextEncoder()

/** `echo words`, `exit N`, `sleep SECONDS`, `hang`, `true`, `false`, `cat` (its stdin), `env` (its variables by name); anything else is missing (127). */
export const program = (spec: ProcessSpec): SimulatedProgram => {
  const [name, ...rest] = spec.argv
  const ends = (exitCode: number | null, output: SimulatedProgram["output"] = [], afterMs = 0): SimulatedProgram => ({
    output,
    exitCode,
    afterMs
  })
  switch (name) {
    case "true":
      return ends(0)
    case "false":
      return ends(1)
    case "exit":
      return ends(Number(rest[0] ?? 0))
    case "echo":
      return ends(0, [{ stream: "stdout", bytes: utf8.encode(`${rest.join(" ")}\n`) }])
    case "cat":
      return ends(0, spec.stdin === null ? [] : [{ stream: "stdout", bytes: spec.stdin }])
    case "env": {
      const lines = Object.entries(spec.env)
        .sort()
        .map(([name, value]) => `${name}=${value}\n`)
      return ends(0, [{ stream: "stdout", bytes: utf8.encode(lines.join("")) }])
    }
    case "sleep":
      return ends(0, [], Number(rest[0] ?? 0) * 1000)
    case "hang":
      return ends(null, [{ stream: "stdout", bytes: utf8.encode("hanging\n") }])
    default:
      return ends(127, [{ stream: "stderr", bytes: utf8.encode(`${name}: not found\n`) }])
  }
}

let pids = 1

export class SimulatedProcess {
  readonly pid = ++pids
  readonly spec: ProcessSpec
  readonly startedAt: number
  readonly frames: Array<ProcessFrame> = []
  readonly offsets: Record<OutputStream, number> = { stdout: 0, stderr: 0 }
  readonly watchers = new Set<() => void>()
  exited = false

  constructor(spec: ProcessSpec, now: number) {
    this.spec = spec
    this.startedAt = now
  }

  write(stream: OutputStream, bytes: Uint8Array) {
    if (this.exited || bytes.length === 0) return
    const offset = this.offsets[stream]
    const kept =
      this.spec.output.mode === "head" ? bytes.subarray(0, Math.max(0, this.spec.output.bytes - offset)) : bytes
    this.offsets[stream] += bytes.length
    if (kept.length > 0) this.push({ type: "output", stream, offset, bytes: kept })
  }

  end(
    result: { readonly exitCode: number | null; readonly signal: string | null; readonly timedOut?: boolean },
    now: number
  ) {
    if (this.exited) return
    this.exited = true
    this.frames.push({
      type: "exited",
      exitCode: result.exitCode,
      signal: result.signal,
      timedOut: result.timedOut ?? false,
      outOfMemory: false,
      startedAt: this.startedAt,
      finishedAt: now,
      stdoutBytes: this.offsets.stdout,
      stderrBytes: this.offsets.stderr
    })
    this.push({ type: "settled", processTree: "gone" })
  }

  private push(frame: ProcessFrame) {
    this.frames.push(frame)
    for (const watcher of [...this.watchers]) watcher()
  }
}

export interface SimulatedMachine {
  spec: SandboxSpec
  state: "running" | "suspended"
  readonly processes: Map<string, SimulatedProcess>
  /** Starts that reached the guest, by key. A second start for the same key violates at-most-once. */
  readonly starts: Map<string, number>
  /** Keys that were killed or forgotten: they never start again. */
  readonly ended: Set<string>
  /** Starts that arrived for such a key and did nothing. */
  readonly lateStarts: Array<string>
  /** Starts that wait, in order of arrival. Each is called when it may be able to start. */
  readonly waiting: Set<() => void>
  /** Programs that listen inside, by port. Each receives its side of a connection. */
  readonly listeners: Map<number, (stream: Duplex) => void>
  /** By path. Only a machine that builds images has any. */
  readonly files: Map<string, Uint8Array>
  /** The service's sides of the open connections. */
  readonly tunnels: Set<Duplex>
}

export class SimulatedWorld {
  readonly machines = new Map<string, SimulatedMachine>()
  readonly volumes = new Set<string>()
  /** Of which snapshot each volume is a copy; volumes that started empty are not here. */
  readonly origins = new Map<string, string>()
  /** Whether it gives images to Sandboxes. */
  runsImages = true
  /** Why no image can be built; null: it can. */
  buildObstacle: PublicText | null = null
  /** Digests of the images that the host has. */
  readonly images = new Set<string>()
  /** Received archives, by the ids of their images: the digest, and when they came. */
  readonly uploads = new Map<string, { readonly digest: string; readonly at: number }>()
  /** Of which snapshot each volume became a copy last, after which generation; volumes that never did are not here. */
  readonly restored = new Map<string, { readonly snapshotId: string; readonly generation: number }>()
  /** Snapshots with the Sandbox whose volume they hold. */
  readonly snapshots = new Map<string, string>()
  /** The content of the images that came from elsewhere. */
  readonly imported = new Map<string, ReadonlyArray<ImagePiece>>()
  /** Every boot so far, as `sandboxId#generation`. */
  readonly boots: Array<string> = []
  readonly downs: PubSub.PubSub<RuntimeDown>
  readonly stalls: PubSub.PubSub<RuntimeStall>
  readonly console: PubSub.PubSub<ConsoleChunk>
  intercept: Intercept = () => Effect.void
  /** Why no Sandbox with network can boot; null when it can. */
  networkRefused: string | null = null
  /** Whether its snapshots have memory. */
  keepsMemory = false
  /** How much of the host's disk each snapshot and each image occupies. */
  storedBytes = 4 * 1024 * 1024

  private constructor(
    downs: PubSub.PubSub<RuntimeDown>,
    stalls: PubSub.PubSub<RuntimeStall>,
    console: PubSub.PubSub<ConsoleChunk>
  ) {
    this.downs = downs
    this.stalls = stalls
    this.console = console
  }

  static readonly make = Effect.gen(function* () {
    return new SimulatedWorld(
      yield* PubSub.unbounded<RuntimeDown>(),
      yield* PubSub.unbounded<RuntimeStall>(),
      yield* PubSub.unbounded<ConsoleChunk>()
    )
  })

  /** Removes a machine, for any reason. */
  end(sandboxId: string): SimulatedMachine | null {
    const machine = this.machines.get(sandboxId)
    if (machine === undefined) return null
    this.machines.delete(sandboxId)
    for (const process of machine.processes.values()) for (const watcher of [...process.watchers]) watcher()
    for (const look of machine.waiting) look()
    for (const tunnel of machine.tunnels) tunnel.destroy()
    return machine
  }

  /** Lets a machine die by itself. */
  crash(sandboxId: string) {
    const machine = this.end(sandboxId)
    if (machine === null) return
    const down: RuntimeDown = {
      type: "down",
      sandboxId,
      generation: machine.spec.generation,
      reason: { code: "CRASHED", message: publicText`The simulated machine crashed.` }
    }
    PubSub.publishUnsafe(this.downs, down)
  }

  /** Every machine dies without a report; the volumes are kept. */
  cutPower() {
    for (const sandboxId of [...this.machines.keys()]) this.end(sandboxId)
  }
}
