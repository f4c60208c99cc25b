/**
 * The journal: makes an actor's transitions durable.
 *
 * Group commit: records accumulate during the previous write, and one statement over `unnest` writes them all.
 * Each update carries `where revision = n - 1`, so two owners of one actor can never both commit.
 *
 * @source design.md "The actor"; lab.md "Durable transitions" (two connections overlap one's fsync with the other's work)
 */
import type { PgClient } from "@effect/sql-pg"
import { Cause, Context, Effect, Layer, Queue, type Tracer } from "effect"
import type { SqlError } from "effect/sql"
import { measuredGauge } from "../metric/measured.ts"
import { spanOf, tracing, within } from "../trace/Tracing.ts"
import { vitalWorker } from "../worker/Worker.ts"
import { textColumn } from "./Columns.ts"
import { JournalDatabase } from "./Database.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"
import { type EncodedCommit, type EncodedInsert, encodeCommit, encodeInsert } from "./JournalEncoding.ts"
import type {
  ActorCommit,
  ActorInsert,
  ActorRow,
  CommitOutcome,
  Deadlines,
  PendingCommand,
  StoredSnapshot
} from "./JournalRecord.ts"
import { insertActors, updateActors, whichWereWritten } from "./JournalStatements.ts"
import { type JournalQueue, journalMetrics } from "./journalMetrics.ts"

interface Job<A, R> {
  readonly item: A
  readonly token: string
  /** When the record arrived, by `performance.now()`. */
  readonly askedAt: number
  /** The parent span of the write; null: no trace. */
  readonly span: Tracer.AnySpan | null
  readonly done: (outcome: R) => void
}

interface Load {
  readonly id: string
}

const batchMax = 256
const writersDefault = 2

let tokens = 0
const tokenPrefix = `${process.pid.toString(36)}-${Date.now().toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}-`

interface RawActor {
  readonly id: string
  readonly kind: string
  readonly account_id: string
  readonly sandbox_id: string
  readonly machine_version: number
  readonly revision: bigint
  readonly snapshot: StoredSnapshot
  readonly pending: ReadonlyArray<PendingCommand>
  readonly deadlines: Deadlines
  readonly changed_at: bigint | null
}

const toRow = (raw: RawActor): ActorRow => ({
  id: raw.id,
  kind: raw.kind,
  accountId: raw.account_id,
  sandboxId: raw.sandbox_id,
  machineVersion: raw.machine_version,
  revision: Number(raw.revision),
  snapshot: raw.snapshot,
  pending: raw.pending,
  deadlines: raw.deadlines,
  changedAt: Number(raw.changed_at ?? 0n)
})

export class Journal extends Context.Service<
  Journal,
  {
    /**
     * Calls back once the outcome is durable. While the database does not answer, the batch is retried and the callback waits.
     *
     * @param span The parent span of the write.
     */
    readonly commit: (commit: ActorCommit, done: (outcome: CommitOutcome) => void, span?: Tracer.AnySpan | null) => void
    /** `fenced`: the id or the idempotency key already exists. */
    readonly insert: (actor: ActorInsert) => Effect.Effect<CommitOutcome>
    readonly load: (id: string) => Effect.Effect<ActorRow | null>
    /** Reports, after each commit of this process, the accounts whose actors have new transitions; possibly more than once. Call the result to unsubscribe. */
    readonly onWritten: (listener: (accountIds: ReadonlyArray<string>) => void) => () => void
    /** Reports transitions that a caller wrote in its own transaction; call it after the commit. */
    readonly tellWritten: (accountIds: ReadonlyArray<string>) => void
    /** Actors with a pending command, or with a deadline up to `dueBefore`. */
    readonly waiting: (dueBefore: number) => Effect.Effect<
      ReadonlyArray<{
        readonly id: string
        readonly kind: string
        readonly revision: number
        readonly hasPending: boolean
        readonly dueAt: number | null
      }>
    >
  }
>()("atoll/store/Journal") {
  static readonly layer = Layer.effect(
    Journal,
    Effect.gen(function* () {
      const sql = yield* JournalDatabase
      const traced = yield* tracing
      // One writer for each connection: ATOLL_JOURNAL_CONNECTIONS.
      const writers = (sql.config as PgClient.PgPoolConfig).maxConnections ?? writersDefault
      const { untilServed, patiently } = yield* DatabaseWatch
      const commits = yield* Queue.unbounded<Job<EncodedCommit, CommitOutcome>>()
      const inserts = yield* Queue.unbounded<Job<EncodedInsert, CommitOutcome>>()
      const loads = yield* Queue.unbounded<Job<Load, Effect.Effect<ActorRow | null>>>()

      const listeners = new Set<(accountIds: ReadonlyArray<string>) => void>()
      const tellWritten = (accountIds: ReadonlyArray<string>): void => {
        for (const listener of listeners) {
          try {
            listener(accountIds)
          } catch (defect) {
            process.emitWarning(`A listener of the journal failed: ${String(defect)}`)
          }
        }
      }

      /** An error in a callback must not stop the writer. */
      const settle = <A extends { readonly id: string }, R>(
        jobs: ReadonlyArray<Job<A, R>>,
        outcomeOf: (job: Job<A, R>) => R
      ) =>
        Effect.suspend(() => {
          const faults: Array<Effect.Effect<void>> = []
          for (const job of jobs) {
            try {
              job.done(outcomeOf(job))
            } catch (defect) {
              faults.push(Effect.logError(`The callback for the journal's write of ${job.item.id} failed`, defect))
            }
          }
          return faults.length === 0 ? Effect.void : Effect.all(faults, { discard: true })
        })

      /** The batch's span belongs to the first trace in it and links to all others. */
      const asBatch = (
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

      // A batch is retried until the database serves; its token identifies what an earlier try wrote.
      // A record that the database permanently rejects must not hold up the others: the batch is split to find it.
      const write = <A extends { readonly id: string; readonly accountId: string }>(
        name: JournalQueue,
        queue: Queue.Queue<Job<A, CommitOutcome>>,
        run: (items: ReadonlyArray<A>, tokens: ReadonlyArray<string>) => Effect.Effect<Set<string>, SqlError.SqlError>
      ) =>
        Effect.gen(function* () {
          const metrics = journalMetrics(name)
          yield* measuredGauge(metrics.waiting, () => Queue.sizeUnsafe(queue))
          // No `Effect.gen` for each batch: V8 gives every called generator function its own map, in the old generation. The map
          // keeps the function's closure until the next full collection: here a batch, its callers and their snapshots.
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
                  if (listeners.size > 0) tellWritten([...new Set(jobs.map(({ item }) => item.accountId))])
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
            return asBatch(name, jobs, writing)
          }
          return (jobs: ReadonlyArray<Job<A, CommitOutcome>>) => writeAll(jobs, false)
        })

      const writeCommits = yield* write<EncodedCommit>("commits", commits, (items, tokens) =>
        updateActors(sql, items, tokens)
      )
      const writeInserts = yield* write<EncodedInsert>("inserts", inserts, (items, tokens) =>
        insertActors(sql, items, tokens)
      )

      const readLoads = (jobs: ReadonlyArray<Job<Load, Effect.Effect<ActorRow | null>>>) =>
        sql
          .unsafe<RawActor>(
            `select id, kind, account_id, sandbox_id, machine_version, revision, snapshot, pending, deadlines,
                    (select t.at from transitions t where t.actor_id = a.id and t.revision = a.revision) as changed_at
             from actors a where id = any($1::text[])`,
            [textColumn([...new Set(jobs.map((job) => job.item.id))])]
          )
          .pipe(
            untilServed,
            Effect.map((rows) => new Map(rows.map((row) => [row.id, toRow(row)]))),
            Effect.matchCauseEffect({
              onSuccess: (byId) => settle(jobs, (job) => Effect.succeed(byId.get(job.item.id) ?? null)),
              onFailure: (cause) => settle(jobs, () => Effect.die(Cause.squash(cause)))
            })
          )

      // A batch takes its share of the waiting records and of those being written, so that callers in step with each other are split
      // over the writers: one batch's decisions and another's fsync then overlap. Taking all waiting records measured a third slower.
      const serve = <A, R>(
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
            share > 1 && Queue.sizeUnsafe(queue) > 0
              ? yield* Queue.takeBetween(queue, 1, Math.min(share, batchMax) - 1)
              : []
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

      yield* serve("journal commits", commits, writeCommits, writers)
      yield* serve("journal inserts", inserts, writeInserts, 1)
      yield* serve("journal loads", loads, readLoads, 1)

      const nextToken = () => tokenPrefix + (++tokens).toString(36)
      const ask = <A, R, B>(
        queue: Queue.Queue<Job<A, R>>,
        item: A,
        answer: (outcome: R) => Effect.Effect<B>,
        span: Tracer.AnySpan | null
      ) =>
        patiently<B, never>((resume) => {
          Queue.offerUnsafe(queue, {
            item,
            token: nextToken(),
            askedAt: performance.now(),
            span,
            done: (outcome) => resume(answer(outcome))
          })
        })

      return Journal.of({
        commit: (commit, done, span = null) => {
          let item: EncodedCommit
          try {
            item = encodeCommit(commit)
          } catch {
            return done("failed")
          }
          Queue.offerUnsafe(commits, { item, token: nextToken(), askedAt: performance.now(), span, done })
        },
        onWritten: (listener) => {
          listeners.add(listener)
          return () => void listeners.delete(listener)
        },
        tellWritten,
        insert: (actor) =>
          Effect.withFiber((fiber) =>
            ask(inserts, encodeInsert(actor), Effect.succeed, traced === null ? null : spanOf(fiber))
          ),
        load: (id) => ask(loads, { id }, (found) => found, null),
        waiting: (dueBefore) =>
          sql
            .unsafe<{
              readonly id: string
              readonly kind: string
              readonly revision: bigint
              readonly has_pending: boolean
              readonly due_at: bigint | null
            }>(
              `select id, kind, revision, pending <> '[]'::jsonb as has_pending, due_at from actors
               where (pending <> '[]'::jsonb or due_at is not null) and (case when pending <> '[]'::jsonb then 0 else due_at end) <= $1`,
              // Pending commands count as due at 0.
              [BigInt(Math.max(0, dueBefore))]
            )
            .pipe(
              Effect.map((rows) =>
                rows.map((row) => ({
                  id: row.id,
                  kind: row.kind,
                  revision: Number(row.revision),
                  hasPending: row.has_pending,
                  dueAt: row.due_at === null ? null : Number(row.due_at)
                }))
              ),
              untilServed,
              Effect.orDie
            )
      })
    })
  )
}
