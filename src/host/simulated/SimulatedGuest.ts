/** The inside of a simulated machine: processes follow `program`, there are no files, and the test listens on ports. */
import { duplexPair } from "node:stream"
import { Clock, Effect, Stream } from "effect"
import {
  type Executed,
  type Guest,
  type GuestFiles,
  type GuestProcesses,
  GuestUnavailable,
  type OutputStream,
  PortClosed,
  type ProcessFrame,
  type ProcessSpec,
  ProcessUnknown
} from "../../runtime/Guest.ts"
import { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import {
  program,
  type SimulatedCall,
  type SimulatedMachine,
  SimulatedProcess,
  type SimulatedWorld
} from "./SimulatedWorld.ts"

const gone = (sandboxId: string) =>
  new GuestUnavailable({ message: `The simulated machine of ${sandboxId} does not run.` })

export const simulatedGuest = (world: SimulatedWorld, machine: SimulatedMachine): Guest => {
  const { sandboxId } = machine.spec
  const isHere = () => world.machines.get(sandboxId) === machine && machine.state === "running"
  const check = Effect.suspend(() => (isHere() ? Effect.void : Effect.fail(gone(sandboxId))))
  const intercept = (call: SimulatedCall) =>
    world.intercept(call, sandboxId).pipe(
      Effect.mapError(
        (error) => new GuestUnavailable({ message: error instanceof RuntimeUnavailable ? error.message : "refused" })
      ),
      Effect.andThen(check)
    )

  /** Called when a command has ended or is no longer wanted: starts the one that waits longest. */
  const nextTurns = () => {
    for (const look of machine.waiting) look()
  }
  const hasTurn = (turnsMax: number) => {
    const taken = [...machine.processes.values()].filter(({ exited, spec }) => !exited && spec.turnsMax !== undefined)
    return taken.length < turnsMax
  }

  const start = Effect.fnUntraced(function* (key: string, spec: ProcessSpec) {
    yield* intercept("start")
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<never>()
    const later = (ms: number, end: () => void) =>
      Effect.runForkWith(context)(Effect.andThen(Effect.sleep(ms), Effect.sync(end)))
    const begin = () => {
      machine.starts.set(key, (machine.starts.get(key) ?? 0) + 1)
      const process = new SimulatedProcess(spec, clock.currentTimeMillisUnsafe())
      machine.processes.set(key, process)
      process.watchers.add(() => process.exited && nextTurns())
      const plan = program(spec)
      for (const { stream, bytes } of plan.output) process.write(stream, bytes)
      if (plan.exitCode !== null) {
        const { exitCode } = plan
        const end = () => isHere() && process.end({ exitCode, signal: null }, clock.currentTimeMillisUnsafe())
        if (plan.afterMs === 0) end()
        else later(plan.afterMs, end)
      }
      if (spec.timeoutMs !== null && !process.exited) {
        later(spec.timeoutMs, () =>
          process.end({ exitCode: null, signal: "SIGKILL", timedOut: true }, clock.currentTimeMillisUnsafe())
        )
      }
    }
    if (machine.processes.has(key)) return
    if (machine.ended.has(key)) return void machine.lateStarts.push(key)
    const { turnsMax } = spec
    if (turnsMax === undefined || (machine.waiting.size === 0 && hasTurn(turnsMax))) return begin()
    yield* Effect.callback<void, GuestUnavailable>((resume) => {
      const look = () => {
        const isOver = !isHere() || machine.processes.has(key) || machine.ended.has(key)
        if (!isOver && !hasTurn(turnsMax)) return
        machine.waiting.delete(look)
        if (!isOver) begin()
        resume(isHere() ? Effect.void : Effect.fail(gone(sandboxId)))
      }
      machine.waiting.add(look)
      return Effect.sync(() => machine.waiting.delete(look))
    })
  })

  const attach = (key: string, from: { readonly stdoutOffset: number; readonly stderrOffset: number }) =>
    Stream.unwrap(
      Effect.gen(function* () {
        yield* intercept("attach")
        const process = machine.processes.get(key)
        if (process === undefined) return yield* new ProcessUnknown({ key })
        let next = 0
        const pull: Effect.Effect<ReadonlyArray<ProcessFrame>, GuestUnavailable> = Effect.callback((resume) => {
          const look = () => {
            if (!isHere()) return done(Effect.fail(gone(sandboxId)))
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
          Stream.takeUntil((frame) => frame.type === "settled"),
          Stream.filter(
            (frame) =>
              frame.type !== "output" ||
              frame.offset + frame.bytes.length > (frame.stream === "stdout" ? from.stdoutOffset : from.stderrOffset)
          ),
          Stream.map((frame) => {
            if (frame.type !== "output") return frame
            const skip = Math.max(0, (frame.stream === "stdout" ? from.stdoutOffset : from.stderrOffset) - frame.offset)
            return { ...frame, offset: frame.offset + skip, bytes: frame.bytes.subarray(skip) }
          })
        )
      })
    )

  const noFiles = Effect.fail(new GuestUnavailable({ message: "The simulated runtime has no files." }))
  const files: GuestFiles = {
    stat: () => noFiles,
    read: () => noFiles,
    write: () => noFiles,
    edit: () => noFiles,
    list: () => noFiles,
    createDirectory: () => noFiles,
    rename: () => noFiles,
    remove: () => noFiles,
    unpack: () => noFiles,
    pack: () => noFiles
  }

  /** `cat`, and every program on a terminal, echoes its input. All other programs take no input. */
  const open: GuestProcesses["open"] = Effect.fnUntraced(function* ({ argv, cwd, env, terminal, purpose }) {
    const key = `${purpose}-${machine.starts.size}`
    const isEcho = argv[0] === "cat" || terminal !== null
    yield* start(key, {
      argv: isEcho ? ["hang"] : argv,
      cwd,
      env,
      stdin: null,
      timeoutMs: null,
      output: { mode: "window", bytes: 1024 * 1024 }
    })
    const process = machine.processes.get(key)!
    const { currentTimeMillisUnsafe } = yield* Clock.Clock
    const end = (exitCode: number | null, signal: string | null) =>
      Effect.sync(() => process.end({ exitCode, signal }, currentTimeMillisUnsafe()))
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        end(null, "SIGTERM"),
        Effect.sync(() => void machine.processes.delete(key))
      )
    )
    return {
      frames: Stream.catchTag(attach(key, { stdoutOffset: 0, stderrOffset: 0 }), "ProcessUnknown", () =>
        Stream.fail(gone(sandboxId))
      ),
      write: (bytes) =>
        Effect.andThen(
          check,
          Effect.sync(() => isEcho && process.write("stdout", bytes))
        ),
      end: isEcho ? end(0, null) : Effect.void,
      resize: () => Effect.void,
      signal: (signal) => end(null, signal)
    }
  })

  const run: GuestProcesses["run"] = (key, spec) =>
    Stream.unwrap(Effect.as(start(key, spec), attach(key, { stdoutOffset: 0, stderrOffset: 0 }))).pipe(
      Stream.mapError((error) =>
        error._tag === "ProcessUnknown" ? new GuestUnavailable({ message: "The process was forgotten." }) : error
      )
    )

  const execute: GuestProcesses["execute"] = Effect.fnUntraced(
    function* (key, spec) {
      const parts: Record<OutputStream, Array<Uint8Array>> = { stdout: [], stderr: [] }
      let exited: Omit<Executed, OutputStream> | null = null
      yield* Stream.runForEach(run(key, spec), (frame) =>
        Effect.sync(() => {
          if (frame.type === "output") parts[frame.stream].push(frame.bytes)
          else if (frame.type === "exited") exited = frame
        })
      )
      if (exited === null) return yield* gone(sandboxId)
      const head = (stream: OutputStream) => Buffer.concat(parts[stream]).subarray(0, spec.output.bytes)
      return { ...(exited as Omit<Executed, OutputStream>), stdout: head("stdout"), stderr: head("stderr") }
    },
    (effect, key) =>
      Effect.ensuring(
        effect,
        Effect.map(Clock.currentTimeMillis, (now) => {
          const process = machine.processes.get(key)
          if (process?.exited === false) process.end({ exitCode: null, signal: "SIGTERM" }, now)
          machine.processes.delete(key)
          machine.ended.add(key)
        })
      )
  )

  return {
    processes: {
      open,
      execute,
      start,
      attach,
      run,
      acknowledge: () => check,
      kill: Effect.fnUntraced(function* (key: string) {
        yield* intercept("kill")
        const process = machine.processes.get(key)
        if (process === undefined) {
          machine.ended.add(key)
          nextTurns()
          return yield* new ProcessUnknown({ key })
        }
        process.end({ exitCode: null, signal: "SIGTERM" }, yield* Clock.currentTimeMillis)
      }),
      forget: (key) =>
        Effect.andThen(
          check,
          Effect.sync(() => {
            machine.processes.delete(key)
            machine.ended.add(key)
          })
        ),
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
      endOne: Effect.fnUntraced(function* ({ pid, startTicks }) {
        yield* check
        const process = [...machine.processes.values()].find(
          (it) => it.pid === pid && it.startedAt === startTicks && !it.exited
        )
        if (process === undefined) return yield* new ProcessUnknown({ key: `${pid}` })
        process.end({ exitCode: null, signal: "SIGTERM" }, yield* Clock.currentTimeMillis)
      }),
      list: Effect.map(check, () => [...machine.processes].map(([key, process]) => ({ key, running: !process.exited })))
    },
    files,
    dial: Effect.fnUntraced(function* (port) {
      yield* check
      const listener = machine.listeners.get(port)
      if (listener === undefined) return yield* new PortClosed({ port })
      return yield* Effect.acquireRelease(
        Effect.sync(() => {
          const [near, far] = duplexPair()
          machine.tunnels.add(near)
          near.on("error", () => {})
          near.once("close", () => {
            machine.tunnels.delete(near)
            far.destroy()
          })
          far.on("error", () => {})
          far.once("close", () => near.destroy())
          listener(far)
          return near
        }),
        (near) => Effect.sync(() => void near.destroy())
      )
    })
  }
}
