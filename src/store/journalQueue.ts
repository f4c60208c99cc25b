/** Journal records that wait to be written, and workers that take them in batches. */
import { Effect, Queue, type Tracer } from "effect"
import { vitalWorker } from "../platform/worker/Worker.ts"

export interface Job<A, R> {
  readonly item: A
  readonly token: string
  /** When it came, by `performance.now()`. */
  readonly askedAt: number
  /** Whose part its writing is; null: of no trace. */
  readonly span: Tracer.AnySpan | null
  readonly done: (outcome: R) => void
}

const batchMax = 256

/** A callback's fault is not the writer's. */
export const settle = <A extends { readonly id: string }, R>(
  jobs: ReadonlyArray<Job<A, R>>,
  outcomeOf: (job: Job<A, R>) => R
) =>
  Effect.suspend(() => {
    const faults: Array<Effect.Effect<void>> = []
    for (const job of jobs) {
      try {
        job.done(outcomeOf(job))
      } catch (defect) {
        faults.push(Effect.logError(`The callback of the write of ${job.item.id} failed`, defect))
      }
    }
    return faults.length === 0 ? Effect.void : Effect.all(faults, { discard: true })
  })

/**
 * Runs workers that write what waits.
 *
 * A batch takes its share of what waits and of what is being written, so that callers in step with each other are split over the writers: one
 * batch's decisions and another's fsync then overlap. Taking all that waits measured a third slower.
 */
export const serveQueue = <A, R>(
  name: string,
  queue: Queue.Queue<Job<A, R>>,
  run: (jobs: ReadonlyArray<Job<A, R>>) => Effect.Effect<void>,
  writers: number
) => {
  let inFlight = 0
  const next = Effect.gen(function* () {
    const [first] = yield* Queue.takeBetween(queue, 1, 1)
    yield* Effect.yieldNow
    const share = Math.ceil((1 + Queue.sizeUnsafe(queue) + inFlight) / writers)
    const rest =
      share > 1 && Queue.sizeUnsafe(queue) > 0 ? yield* Queue.takeBetween(queue, 1, Math.min(share, batchMax) - 1) : []
    const batch = [first!, ...rest]
    inFlight += batch.length
    yield* Effect.ensuring(
      run(batch),
      Effect.sync(() => {
        inFlight -= batch.length
      })
    )
  })
  return Effect.forEach(Array.from({ length: writers }), () => vitalWorker(name, Effect.forever(next)), {
    discard: true
  })
}
