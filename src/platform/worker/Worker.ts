/**
 * Background work that lasts as long as the service and never ends silently.
 *
 * If a worker ends before its scope (by an error, a defect, an inner interruption, or a return), that is logged and counted, and the worker runs
 * again after a pause. A worker that needs a resource reports that with `waitingFor`. `/healthz`, `/metrics` and the operator's page show each worker
 * by its name.
 */
import { Cause, Clock, Context, Effect, Exit, Fiber, Metric, type Scope } from "effect"
import { measuredGauge } from "../metric/measured.ts"

const pauseFirstMs = 100
const pauseMaxMs = 30_000
/** A worker that ran this long has recovered from its last fault. */
const recoveredAfterMs = 60_000
/** A wait that lasts longer makes the process unready. */
export const waitMaxMs = 30_000

/** `starting`: not started yet. `waiting`: it needs a resource that it does not have. `down`: it ended, and starts again after a pause. */
export type WorkerPhase = "starting" | "up" | "waiting" | "down"

export interface WorkerState {
  readonly name: string
  /** Without this worker requests wait or fail. */
  readonly isVital: boolean
  readonly state: WorkerPhase
  /** The resource that a `waiting` worker needs, and since when; else null. */
  readonly waiting: { readonly for: string; readonly since: string; readonly isOverdue: boolean } | null
  readonly restarts: number
  /** The kind of its last fault. The message is left out, because it may contain anything. */
  readonly lastFault: string | null
}

const restarts = (worker: string) =>
  Metric.counter("atoll_worker_restarts_total", {
    description: "How often a background worker ended and was started again.",
    incremental: true,
    attributes: { worker }
  })

const life = (worker: string) =>
  Metric.gauge("atoll_workers_up", {
    description: "Background workers that run, by name.",
    attributes: { worker }
  })

const waited = (worker: string) =>
  Metric.gauge("atoll_worker_waiting_seconds", {
    description: "How long a background worker has waited for a resource that it needs, by name; 0: it does not wait.",
    attributes: { worker }
  })

interface Wait {
  readonly for: string
  readonly sinceMs: number
  /** By the monotonic clock. */
  readonly began: bigint
  readonly maxMs: number
}

/** One entry of the list. */
class ListedWorker {
  readonly name: string
  readonly isVital: boolean
  readonly #clock: Clock.Clock
  readonly #count: (change: 1 | -1) => void
  readonly #waits = new Set<Wait>()
  #phase: Exclude<WorkerPhase, "waiting"> = "starting"
  #isCounted = false
  restarts = 0
  lastFault: string | null = null

  /** `count` is called when the worker comes up and when it ceases to be up. */
  constructor(name: string, isVital: boolean, clock: Clock.Clock, count: (change: 1 | -1) => void) {
    this.name = name
    this.isVital = isVital
    this.#clock = clock
    this.#count = count
  }

  get phase(): Exclude<WorkerPhase, "waiting"> {
    return this.#phase
  }

  set phase(phase) {
    this.#phase = phase
    // An ended worker waits for nothing.
    if (phase === "down") this.#waits.clear()
    this.#recount()
  }

  #recount(): void {
    const isUp = this.#phase === "up" && this.#waits.size === 0
    if (isUp === this.#isCounted) return
    this.#isCounted = isUp
    this.#count(isUp ? 1 : -1)
  }

  /** Returns a function that ends the wait. */
  wait(what: string, maxMs: number): () => void {
    const began = this.#clock.monotonicTimeNanosUnsafe()
    const wait: Wait = { for: what, sinceMs: this.#clock.currentTimeMillisUnsafe(), began, maxMs }
    this.#waits.add(wait)
    this.#recount()
    return () => {
      this.#waits.delete(wait)
      this.#recount()
    }
  }

  waitedMs(wait: Wait): number {
    return Number((this.#clock.monotonicTimeNanosUnsafe() - wait.began) / 1_000_000n)
  }

  /** The first of its current waits. */
  get #wait(): Wait | undefined {
    return this.phase === "up" ? this.#waits.values().next().value : undefined
  }

  get waitingMs(): number {
    const wait = this.#wait
    return wait === undefined ? 0 : this.waitedMs(wait)
  }

  get state(): WorkerState {
    const { name, isVital, restarts, lastFault } = this
    const wait = this.#wait
    const waiting =
      wait === undefined
        ? null
        : {
            for: wait.for,
            since: new Date(wait.sinceMs).toISOString(),
            isOverdue: this.waitedMs(wait) > wait.maxMs
          }
    return { name, isVital, state: waiting === null ? this.phase : "waiting", waiting, restarts, lastFault }
  }
}

/** From bad to good. */
const phases: ReadonlyArray<WorkerPhase> = ["down", "waiting", "starting", "up"]

const worse = (one: WorkerState, other: WorkerState): WorkerState => {
  const ranks = [one, other].map(
    ({ state, waiting }) => phases.indexOf(state) - (waiting?.isOverdue === true ? 0.5 : 0)
  )
  return ranks[0]! <= ranks[1]! ? one : other
}

/** The workers of this process, or of a test's own service. */
export class WorkerList {
  readonly #workers = new Set<ListedWorker>()

  /** Merges workers of one name into one entry: the worst state of them. */
  get byName(): ReadonlyArray<WorkerState> {
    const found = new Map<string, WorkerState>()
    for (const { state } of this.#workers) {
      const other = found.get(state.name)
      const merged = other === undefined ? state : worse(state, other)
      found.set(state.name, {
        ...merged,
        restarts: state.restarts + (other?.restarts ?? 0),
        lastFault: state.lastFault ?? other?.lastFault ?? null
      })
    }
    return [...found.values()]
  }

  /** The longest wait of the workers of a name. */
  waitingMs(name: string): number {
    let ms = 0
    for (const worker of this.#workers) if (worker.name === name) ms = Math.max(ms, worker.waitingMs)
    return ms
  }

  add(worker: ListedWorker): void {
    this.#workers.add(worker)
  }

  delete(worker: ListedWorker): void {
    this.#workers.delete(worker)
  }
}

/** Requests wait or fail because of this worker. */
const isMissing = ({ isVital, state, waiting }: WorkerState): boolean =>
  isVital && (state === "down" || waiting?.isOverdue === true)

/** A process's health by its workers, and by `serves`: whether it has all else that it needs. */
export const healthOf = (workers: ReadonlyArray<WorkerState>, serves: boolean): "ok" | "degraded" | "unavailable" => {
  if (!serves || workers.some(isMissing)) return "unavailable"
  return workers.some(({ state }) => state !== "up") ? "degraded" : "ok"
}

/** Why requests should not come to this process, as a sentence; null: its workers do what they should. */
export const obstacleOf = (workers: ReadonlyArray<WorkerState>): string | null => {
  const idle = workers.find(({ isVital, state }) => isVital && state === "down")
  if (idle !== undefined) return `The worker "${idle.name}" does not run.`
  const stuck = workers.find(({ waiting }) => waiting?.isOverdue === true)
  return stuck?.waiting
    ? `The worker "${stuck.name}" has waited for ${stuck.waiting.for} since ${stuck.waiting.since}.`
    : null
}

const processList = new WorkerList()

/** Where workers are listed. */
export const Workers = Context.Reference<WorkerList>("atoll/platform/worker/Workers", {
  defaultValue: () => processList
})

interface Waiter {
  readonly wait: (what: string, maxMs: number) => () => void
}

const notListed: Waiter = { wait: () => () => {} }

/** The worker that a fiber belongs to. */
export const CurrentWorker = Context.Reference<Waiter>("atoll/platform/worker/CurrentWorker", {
  defaultValue: () => notListed
})

/**
 * Waits for a resource that a worker needs. The worker is `waiting` meanwhile; outside of a worker the effect just runs.
 *
 * @param what The resource, as it reads after "waits for".
 * @param maxMs A longer wait makes the process unready.
 */
export const waitingFor = <A, E, R>(
  what: string,
  get: Effect.Effect<A, E, R>,
  maxMs = waitMaxMs
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.map(CurrentWorker, (current) => current.wait(what, maxMs)),
    () => get,
    (over) => Effect.sync(over)
  )

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
  const listed = new ListedWorker(name, isVital, yield* Clock.Clock, (change) =>
    life(name).modifyUnsafe(change, context)
  )
  // Registers the counter at 0: growth from a first value of 1 would be invisible.
  restarts(name).updateUnsafe(0, context)

  const supervised = Effect.gen(function* () {
    let pauseMs = pauseFirstMs
    while (true) {
      listed.phase = "up"
      const began = yield* Clock.monotonicTimeNanos
      // In a child fiber: an interruption inside the work must not interrupt the supervisor.
      const fiber = yield* Effect.forkChild(Effect.provideService(work, CurrentWorker, listed))
      const exit = yield* Fiber.await(fiber).pipe(Effect.onInterrupt(() => Fiber.interrupt(fiber)))
      listed.phase = "down"
      listed.restarts++
      listed.lastFault = faultOf(exit)
      restarts(name).updateUnsafe(1, context)
      const lastedMs = Number(((yield* Clock.monotonicTimeNanos) - began) / 1_000_000n)
      if (lastedMs >= recoveredAfterMs) pauseMs = pauseFirstMs
      yield* Effect.logError(
        `The worker "${name}" ended (${listed.lastFault}) and is started again in ${pauseMs} ms`,
        ...(Exit.isFailure(exit) ? [exit.cause] : [])
      )
      yield* Effect.sleep(pauseMs)
      pauseMs = Math.min(pauseMs * 2, pauseMaxMs)
    }
  })

  yield* Effect.acquireRelease(
    Effect.sync(() => list.add(listed)),
    () =>
      Effect.sync(() => {
        list.delete(listed)
        listed.phase = "down"
      })
  )
  yield* measuredGauge(waited(name), () => list.waitingMs(name) / 1000)
  yield* Effect.forkScoped(supervised)
})

/** Runs `work` until the scope closes. `name` is a word or two of lower case: it labels metrics. */
export const worker = <E, R>(name: string, work: Effect.Effect<unknown, E, R>) => supervise(name, false, work)

/** The same for work without which requests wait or fail: `/healthz` is 503 while it does not run. */
export const vitalWorker = <E, R>(name: string, work: Effect.Effect<unknown, E, R>) => supervise(name, true, work)
