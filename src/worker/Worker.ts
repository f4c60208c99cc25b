/**
 * Work that goes on for as long as the service does: never ends silently.
 *
 * Whatever ends it before its scope does (an error, a defect, an inner interruption, its own return) is logged and counted, and it is run
 * again after a pause. `/healthz` and `/metrics` show each worker by its name.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, Metric, type Scope } from "effect"

const pauseFirstMs = 100
const pauseMaxMs = 30_000
/** One that went on for so long has recovered from whatever ended it before. */
const recoveredAfterMs = 60_000

export interface WorkerState {
  readonly name: string
  /** Without it requests wait or fail. */
  readonly isVital: boolean
  readonly state: "up" | "restarting"
  readonly restarts: number
  /** What ended it last, by the kind of the fault alone: a message may hold anything. */
  readonly lastFault: string | null
}

const restarts = (worker: string) =>
  Metric.counter("atoll_worker_restarts_total", {
    description: "How often a background worker ended and was started again.",
    incremental: true,
    attributes: { worker }
  })

const life = (worker: string) =>
  Metric.gauge("atoll_workers_up", { description: "Background workers that run, by name.", attributes: { worker } })

/** The workers of this process, or of a test's own service. */
export class WorkerList {
  readonly #workers = new Set<WorkerState>()

  /** Those of one name as one: up if all of them are. */
  get byName(): ReadonlyArray<WorkerState> {
    const found = new Map<string, WorkerState>()
    for (const worker of this.#workers) {
      const other = found.get(worker.name)
      found.set(
        worker.name,
        other === undefined
          ? { ...worker }
          : {
              name: worker.name,
              isVital: worker.isVital,
              state: worker.state === "up" ? other.state : worker.state,
              restarts: worker.restarts + other.restarts,
              lastFault: worker.lastFault ?? other.lastFault
            }
      )
    }
    return [...found.values()]
  }

  add(worker: WorkerState): void {
    this.#workers.add(worker)
  }

  delete(worker: WorkerState): void {
    this.#workers.delete(worker)
  }
}

const processList = new WorkerList()

/** Where workers are listed. */
export const Workers = Context.Reference<WorkerList>("atoll/worker/Workers", { defaultValue: () => processList })

const faultOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "Returned"
  if (Cause.hasInterruptsOnly(exit.cause)) return "Interrupted"
  const fault = Cause.squash(exit.cause)
  if (typeof fault === "object" && fault !== null && "_tag" in fault) return String(fault._tag)
  return fault instanceof Error ? fault.name : typeof fault
}

const supervise = Effect.fnUntraced(function* <E, R>(
  name: string,
  isVital: boolean,
  work: Effect.Effect<unknown, E, R>
): Effect.fn.Return<void, never, R | Scope.Scope> {
  const list = yield* Workers
  const context = yield* Effect.context<never>()
  const state = { name, isVital, state: "up" as WorkerState["state"], restarts: 0, lastFault: null as string | null }
  // It is there before the first one: nobody sees the growth of what begins at 1.
  restarts(name).updateUnsafe(0, context)
  const up = (change: 1 | -1) => life(name).modifyUnsafe(change, context)

  const supervised = Effect.gen(function* () {
    let pauseMs = pauseFirstMs
    while (true) {
      state.state = "up"
      up(1)
      const began = yield* Clock.monotonicTimeNanos
      // In a fiber of its own: its interruption from within is not ours.
      const fiber = yield* Effect.forkChild(work)
      const exit = yield* Fiber.await(fiber).pipe(
        Effect.onInterrupt(() => Fiber.interrupt(fiber)),
        Effect.ensuring(Effect.sync(() => up(-1)))
      )
      state.state = "restarting"
      state.restarts++
      state.lastFault = faultOf(exit)
      restarts(name).updateUnsafe(1, context)
      const lastedMs = Number(((yield* Clock.monotonicTimeNanos) - began) / 1_000_000n)
      if (lastedMs >= recoveredAfterMs) pauseMs = pauseFirstMs
      yield* Effect.logError(
        `The worker "${name}" ended (${state.lastFault}) and is started again in ${pauseMs} ms`,
        ...(Exit.isFailure(exit) ? [exit.cause] : [])
      )
      yield* Effect.sleep(pauseMs)
      pauseMs = Math.min(pauseMs * 2, pauseMaxMs)
    }
  })

  yield* Effect.acquireRelease(
    Effect.sync(() => list.add(state)),
    () => Effect.sync(() => list.delete(state))
  )
  yield* Effect.forkScoped(supervised)
})

/** Runs `work` until the scope closes. `name` is a word or two of lower case: it labels metrics. */
export const worker = <E, R>(name: string, work: Effect.Effect<unknown, E, R>) => supervise(name, false, work)

/** The same for work without which requests wait or fail: `/healthz` is 503 while it does not run. */
export const vitalWorker = <E, R>(name: string, work: Effect.Effect<unknown, E, R>) => supervise(name, true, work)
