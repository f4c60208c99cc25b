/** How a batch of journal records is written: retried until the database serves, and split where it refuses one. */
import { Effect, Queue } from "effect"
import type { SqlError } from "effect/sql"
import { measuredGauge } from "../platform/metric/measured.ts"
import { type Tracing, within } from "../platform/trace/Tracing.ts"
import type { JournalDatabase } from "./Database.ts"
import type { DatabaseWatch } from "./DatabaseWatch.ts"
import type { CommitOutcome } from "./JournalRecord.ts"
import { whichWereWritten } from "./JournalStatements.ts"
import { type JournalQueue, journalMetrics } from "./journalMetrics.ts"
import { type Job, settle } from "./journalQueue.ts"

/** What a batch is written with. */
export interface JournalWriting {
  readonly sql: JournalDatabase["Service"]
  readonly untilServed: DatabaseWatch["Service"]["untilServed"]
  /** Null where nothing is traced. */
  readonly traced: Tracing | null
  /** The accounts with new transitions, after a commit. */
  readonly onWritten: (accountIds: () => ReadonlyArray<string>) => void
}

/** A batch is a part of the first trace in it, and linked with all others. */
const asBatch = (
  traced: Tracing | null,
  name: JournalQueue,
  jobs: ReadonlyArray<Job<unknown, never>>,
  writing: Effect.Effect<void>
): Effect.Effect<void> => {
  if (traced === null) return writing
  const [first, ...others] = jobs.flatMap(({ span }) => span ?? [])
  if (first === undefined) return writing
  const span = traced.begin("Journal.write", first, { queue: name, records: jobs.length }, others)
  for (const other of others) if (other._tag === "Span") other.addLinks([{ span, attributes: {} }])
  return Effect.ensuring(
    within(writing, span),
    Effect.sync(() => traced.end(span, null))
  )
}

/**
 * Makes the function that writes a batch. A batch is retried until the database serves; what an earlier try wrote is recognised by its token.
 * A record that the database refuses for good must not hold up its neighbours: the batch is split to find it.
 */
export const batchWriter = <A extends { readonly id: string; readonly accountId: string }>(
  { sql, untilServed, traced, onWritten }: JournalWriting,
  name: JournalQueue,
  queue: Queue.Queue<Job<A, CommitOutcome>>,
  run: (items: ReadonlyArray<A>, tokens: ReadonlyArray<string>) => Effect.Effect<Set<string>, SqlError.SqlError>
) =>
  Effect.gen(function* () {
    const metrics = journalMetrics(name)
    yield* measuredGauge(metrics.waiting, () => Queue.sizeUnsafe(queue))
    // No `Effect.gen` for each batch: V8 gives every generator function that is called a map of its own, in the old generation, which
    // keeps what the function closes over until the next full collection: here a batch, its callers and their snapshots.
    const attempt = (jobs: ReadonlyArray<Job<A, CommitOutcome>>) =>
      run(
        jobs.map((job) => job.item),
        jobs.map((job) => job.token)
      )
    const attemptAgain = Effect.fnUntraced(function* (jobs: ReadonlyArray<Job<A, CommitOutcome>>) {
      const ids = jobs.map((job) => job.item.id)
      const tokens = jobs.map((job) => job.token)
      const before = yield* whichWereWritten(sql, tokens, ids)
      const rest = jobs.filter((job) => !before.has(job.item.id))
      return rest.length === 0 ? before : new Set([...before, ...(yield* attempt(rest))])
    })
    const writeAll = (jobs: ReadonlyArray<Job<A, CommitOutcome>>, mayBeWritten: boolean): Effect.Effect<void> => {
      let isRetry = mayBeWritten
      const writing = Effect.suspend(() => {
        if (isRetry) metrics.retried()
        const tried = isRetry ? attemptAgain(jobs) : attempt(jobs)
        isRetry = true
        return tried
      }).pipe(
        untilServed,
        Effect.matchCauseEffect({
          onSuccess: (written) => {
            metrics.written(jobs.length, jobs[0]!.askedAt)
            onWritten(() => [...new Set(jobs.map(({ item }) => item.accountId))])
            return settle(jobs, (job): CommitOutcome => (written.has(job.item.id) ? "committed" : "fenced"))
          },
          onFailure: (cause) =>
            jobs.length > 1
              ? Effect.forEach(jobs, (job) => writeAll([job], isRetry), { discard: true })
              : Effect.andThen(
                  Effect.andThen(
                    Effect.sync(metrics.refused),
                    Effect.logError(`The database refuses a record of ${jobs[0]!.item.id}`, cause)
                  ),
                  settle(jobs, (): CommitOutcome => "failed")
                )
        })
      )
      return asBatch(traced, name, jobs, writing)
    }
    return (jobs: ReadonlyArray<Job<A, CommitOutcome>>) => writeAll(jobs, false)
  })
