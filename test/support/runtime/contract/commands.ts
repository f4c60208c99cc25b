/** Runs one command in a guest and gathers all its frames. */
import { Effect, Stream } from "effect"
import type { Guest, ProcessFrame, ProcessSpec } from "../../../../src/runtime/Guest.ts"

export interface Ended {
  readonly stdout: string
  readonly stderr: string
  readonly exited: Extract<ProcessFrame, { type: "exited" }>
  readonly processTree: "running" | "gone" | "unconfirmed"
}

export const commandSpec = (argv: ReadonlyArray<string>, changes: Partial<ProcessSpec> = {}): ProcessSpec => ({
  argv,
  cwd: "/workspace",
  env: {},
  stdin: null,
  timeoutMs: 100_000,
  output: { mode: "head", bytes: 1024 * 1024 },
  ...changes
})

export const shell = (script: string, changes: Partial<ProcessSpec> = {}): ProcessSpec =>
  commandSpec(["sh", "-c", script], changes)

/** Checks on the way that offsets follow each other and that the frames come in their order. */
export const gather = <E>(frames: Stream.Stream<ProcessFrame, E>): Effect.Effect<Ended, E> =>
  Effect.map(Stream.runCollect(frames), (all) => {
    const bytes: { stdout: Array<Uint8Array>; stderr: Array<Uint8Array> } = { stdout: [], stderr: [] }
    const next: { stdout: number | null; stderr: number | null } = { stdout: null, stderr: null }
    let exited: Ended["exited"] | null = null
    let processTree: Ended["processTree"] | null = null
    for (const frame of all) {
      if (processTree !== null) throw new Error(`a ${frame.type} frame after settled`)
      if (frame.type === "exited") exited = frame
      else if (frame.type === "settled") processTree = frame.processTree
      else {
        if (exited !== null) throw new Error("output after exited")
        const expected = next[frame.stream]
        if (expected !== null && expected !== frame.offset) throw new Error(`${frame.offset} follows ${expected}`)
        next[frame.stream] = frame.offset + frame.bytes.length
        bytes[frame.stream].push(Buffer.from(frame.bytes))
      }
    }
    if (exited === null || processTree === null) throw new Error("the frames broke off")
    return {
      stdout: Buffer.concat(bytes.stdout).toString(),
      stderr: Buffer.concat(bytes.stderr).toString(),
      exited,
      processTree
    }
  })

let keys = 0
export const freshKey = (): string => `key-${process.pid}-${keys++}`

export const run = (guest: Guest, spec: ProcessSpec) =>
  Effect.suspend(() => gather(guest.processes.run(freshKey(), spec)))

/** stdout of a script that must succeed. */
export const output = (guest: Guest, script: string) =>
  Effect.map(run(guest, shell(script)), (ended) => {
    if (ended.exited.exitCode !== 0) throw new Error(`${script}: ${ended.exited.exitCode} ${ended.stderr}`)
    return ended.stdout.trim()
  })

/** Polls every few milliseconds until it holds; the test's own time-out bounds it. */
export const eventually = <E, R>(holds: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(holds, (it) => (it ? Effect.void : Effect.andThen(Effect.sleep(10), eventually(holds))))
