/** The processes of a simulated machine: each follows `program`. */
import { Clock, Effect, Stream } from "effect"
import {
  type Executed,
  type GuestProcesses,
  GuestUnavailable,
  type OutputStream,
  type ProcessFrame,
  type ProcessSpec,
  ProcessUnknown
} from "../../runtime/Guest.ts"
import type { Inside } from "./Inside.ts"
import { type SimulatedMachine, SimulatedProcess } from "./SimulatedWorld.ts"
import { programIn } from "./simulatedBuild.ts"

type Start = ReturnType<typeof starts>
type Attach = ReturnType<typeof attaches>

/** Asked for `SIGTERM`: a simulated process ends immediately. */
const terminated = { exitCode: null, signal: "SIGTERM" } as const

/** Called when a command has ended or is no longer wanted: starts the one that waits longest. */
const nextTurns = (machine: SimulatedMachine) => {
  for (const look of machine.waiting) look()
}
const hasTurn = (machine: SimulatedMachine, turnsMax: number) => {
  const taken = [...machine.processes.values()].filter(({ exited, spec }) => !exited && spec.turnsMax !== undefined)
  return taken.length < turnsMax
}

/** Runs a process by its program. `later` runs something after a time. */
const begin = (
  inside: Inside,
  key: string,
  spec: ProcessSpec,
  clock: Clock.Clock,
  later: (ms: number, end: () => void) => void
) => {
  const { machine } = inside
  machine.starts.set(key, (machine.starts.get(key) ?? 0) + 1)
  const process = new SimulatedProcess(spec, clock.currentTimeMillisUnsafe())
  machine.processes.set(key, process)
  process.watchers.add(() => process.exited && nextTurns(machine))
  const plan = programIn(machine, spec)
  for (const { stream, bytes } of plan.output) process.write(stream, bytes)
  if (plan.exitCode !== null) {
    const { exitCode } = plan
    const end = () => inside.isHere() && process.end({ exitCode, signal: null }, clock.currentTimeMillisUnsafe())
    if (plan.afterMs === 0) end()
    else later(plan.afterMs, end)
  }
  if (spec.timeoutMs !== null && !process.exited) {
    later(spec.timeoutMs, () =>
      process.end({ exitCode: null, signal: "SIGKILL", timedOut: true }, clock.currentTimeMillisUnsafe())
    )
  }
}

const starts = (inside: Inside) =>
  Effect.fnUntraced(function* (key: string, spec: ProcessSpec) {
    const { machine } = inside
    yield* inside.intercept("start")
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<never>()
    const later = (ms: number, end: () => void) =>
      Effect.runForkWith(context)(Effect.andThen(Effect.sleep(ms), Effect.sync(end)))
    if (machine.processes.has(key)) return
    if (machine.ended.has(key)) return void machine.lateStarts.push(key)
    const { turnsMax } = spec
    const beginNow = () => begin(inside, key, spec, clock, later)
    if (turnsMax === undefined || (machine.waiting.size === 0 && hasTurn(machine, turnsMax))) return beginNow()
    yield* Effect.callback<void, GuestUnavailable>((resume) => {
      const look = () => {
        const isOver = !inside.isHere() || machine.processes.has(key) || machine.ended.has(key)
        if (!isOver && !hasTurn(machine, turnsMax)) return
        machine.waiting.delete(look)
        if (!isOver) beginNow()
        resume(inside.isHere() ? Effect.void : Effect.fail(inside.gone()))
      }
      machine.waiting.add(look)
      return Effect.sync(() => machine.waiting.delete(look))
    })
  })

/** Frames as they are written; the first pull returns all that were written before. */
const framesOf = (inside: Inside, process: SimulatedProcess) => {
  let next = 0
  const pull: Effect.Effect<ReadonlyArray<ProcessFrame>, GuestUnavailable> = Effect.callback((resume) => {
    const look = () => {
      if (!inside.isHere()) return done(Effect.fail(inside.gone()))
      if (next < process.frames.length) {
        const frames = process.frames.slice(next)
        next = process.frames.length
        done(Effect.succeed(frames))
      }
    }
    const done = (exit: Effect.Effect<ReadonlyArray<ProcessFrame>, GuestUnavailable>) => {
      process.watchers.delete(look)
      resume(exit)
    }
    process.watchers.add(look)
    look()
    return Effect.sync(() => process.watchers.delete(look))
  })
  return Stream.fromEffectRepeat(pull).pipe(
    Stream.flatMap((frames) => Stream.fromIterable(frames)),
    Stream.takeUntil((frame) => frame.type === "settled")
  )
}

interface Offsets {
  readonly stdoutOffset: number
  readonly stderrOffset: number
}

const fromTheStart: Offsets = { stdoutOffset: 0, stderrOffset: 0 }

/** Without the bytes before the offsets; null: all of them are before. */
const cutTo = (frame: ProcessFrame, from: Offsets): ProcessFrame | null => {
  if (frame.type !== "output") return frame
  const start = frame.stream === "stdout" ? from.stdoutOffset : from.stderrOffset
  if (frame.offset + frame.bytes.length <= start) return null
  const skip = Math.max(0, start - frame.offset)
  return { ...frame, offset: frame.offset + skip, bytes: frame.bytes.subarray(skip) }
}

const attaches = (inside: Inside) => (key: string, from: Offsets) =>
  Stream.unwrap(
    Effect.gen(function* () {
      yield* inside.intercept("attach")
      const process = inside.machine.processes.get(key)
      if (process === undefined) return yield* new ProcessUnknown({ key })
      return framesOf(inside, process).pipe(
        Stream.map((frame) => cutTo(frame, from)),
        Stream.filter((frame) => frame !== null)
      )
    })
  )

/** `cat`, and every program on a terminal, echoes its input. All other programs take no input. */
const opens = (inside: Inside, start: Start, attach: Attach): GuestProcesses["open"] =>
  Effect.fnUntraced(function* ({ argv, cwd, env, terminal, purpose }) {
    const key = `${purpose}-${inside.machine.starts.size}`
    const isEcho = argv[0] === "cat" || terminal !== null
    yield* start(key, {
      argv: isEcho ? ["hang"] : argv,
      cwd,
      env,
      stdin: null,
      timeoutMs: null,
      output: { mode: "window", bytes: 1024 * 1024 }
    })
    const process = inside.machine.processes.get(key)!
    const { currentTimeMillisUnsafe } = yield* Clock.Clock
    const end = (exitCode: number | null, signal: string | null) =>
      Effect.sync(() => process.end({ exitCode, signal }, currentTimeMillisUnsafe()))
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        end(null, "SIGTERM"),
        Effect.sync(() => void inside.machine.processes.delete(key))
      )
    )
    return {
      frames: Stream.catchTag(attach(key, fromTheStart), "ProcessUnknown", () => Stream.fail(inside.gone())),
      write: (bytes) =>
        Effect.andThen(
          inside.check,
          Effect.sync(() => isEcho && process.write("stdout", bytes))
        ),
      end: isEcho ? end(0, null) : Effect.void,
      resize: () => Effect.void,
      signal: (signal) => end(null, signal)
    }
  })

const runs =
  (start: Start, attach: Attach): GuestProcesses["run"] =>
  (key, spec) =>
    Stream.unwrap(Effect.as(start(key, spec), attach(key, fromTheStart))).pipe(
      Stream.mapError((error) =>
        error._tag === "ProcessUnknown" ? new GuestUnavailable({ message: "The process was forgotten." }) : error
      )
    )

const executes = (inside: Inside, run: GuestProcesses["run"]): GuestProcesses["execute"] =>
  Effect.fnUntraced(
    function* (key, spec) {
      const parts: Record<OutputStream, Array<Uint8Array>> = { stdout: [], stderr: [] }
      let exited: Omit<Executed, OutputStream> | null = null
      yield* Stream.runForEach(run(key, spec), (frame) =>
        Effect.sync(() => {
          if (frame.type === "output") parts[frame.stream].push(frame.bytes)
          else if (frame.type === "exited") exited = frame
        })
      )
      if (exited === null) return yield* inside.gone()
      const head = (stream: OutputStream) => Buffer.concat(parts[stream]).subarray(0, spec.output.bytes)
      return { ...(exited as Omit<Executed, OutputStream>), stdout: head("stdout"), stderr: head("stderr") }
    },
    (effect, key) =>
      Effect.ensuring(
        effect,
        Effect.map(Clock.currentTimeMillis, (now) => {
          const process = inside.machine.processes.get(key)
          if (process?.exited === false) process.end(terminated, now)
          inside.machine.processes.delete(key)
          inside.machine.ended.add(key)
        })
      )
  )

const ends = (inside: Inside): Pick<GuestProcesses, "kill" | "forget" | "endOne"> => {
  const { machine, check } = inside
  return {
    kill: Effect.fnUntraced(function* (key: string) {
      yield* inside.intercept("kill")
      const process = machine.processes.get(key)
      if (process === undefined) {
        machine.ended.add(key)
        nextTurns(machine)
        return yield* new ProcessUnknown({ key })
      }
      process.end(terminated, yield* Clock.currentTimeMillis)
    }),
    forget: (key) =>
      Effect.andThen(
        check,
        Effect.sync(() => {
          machine.processes.delete(key)
          machine.ended.add(key)
        })
      ),
    endOne: Effect.fnUntraced(function* ({ pid, startTicks }) {
      yield* check
      const process = [...machine.processes.values()].find(
        (it) => it.pid === pid && it.startedAt === startTicks && !it.exited
      )
      if (process === undefined) return yield* new ProcessUnknown({ key: `${pid}` })
      process.end(terminated, yield* Clock.currentTimeMillis)
    })
  }
}

const lists = ({ machine, check }: Inside): Pick<GuestProcesses, "every" | "list"> => ({
  every: Effect.map(check, () => ({
    processes: [...machine.processes]
      .filter(([, { exited }]) => !exited)
      .map(([key, { pid, startedAt, spec }]) => ({
        pid,
        parentPid: 1,
        startTicks: startedAt,
        startedAt,
        state: "sleeping" as const,
        cpuMs: 0,
        memoryBytes: 0,
        argv: spec.argv,
        user: "sandbox",
        command: key
      })),
    truncated: false
  })),
  list: Effect.map(check, () => [...machine.processes].map(([key, process]) => ({ key, running: !process.exited })))
})

export const simulatedProcesses = (inside: Inside): GuestProcesses => {
  const start = starts(inside)
  const attach = attaches(inside)
  const run = runs(start, attach)
  return {
    start,
    attach,
    run,
    open: opens(inside, start, attach),
    execute: executes(inside, run),
    acknowledge: () => inside.check,
    ...ends(inside),
    ...lists(inside)
  }
}
