/**
 * The journal: where an actor's transition becomes durable.
 *
 * Group commit: records gather while the last batch is being written, and one statement over `unnest` writes them all.
 * Each update carries `where revision = n - 1`, so two owners of one actor can never both commit.
 *
 * @source design.md "The actor"; lab.md "Durable transitions" (two connections overlap one's fsync with the other's work)
 */
import { Context, Effect, Layer, Queue, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import { textColumn } from "./Columns.ts"
import { JournalDatabase } from "./Database.ts"
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

interface Job<A, R> {
  readonly item: A
  readonly token: string
  readonly done: (outcome: R) => void
}

const batchMax = 256
const writers = 2

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
  deadlines: raw.deadlines
})

export class Journal extends Context.Service<
  Journal,
  {
    /** Calls back once the outcome is durable. Never calls back while the database does not answer; the batch is retried. */
    readonly commit: (commit: ActorCommit, done: (outcome: CommitOutcome) => void) => void
    /** `fenced`: the id or the idempotency key exists already. */
    readonly insert: (actor: ActorInsert) => Effect.Effect<CommitOutcome>
    readonly load: (id: string) => Effect.Effect<ActorRow | null>
    /** Actors that wait for a command or for a deadline up to `dueBefore`. */
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
      const commits = yield* Queue.unbounded<Job<ActorCommit, CommitOutcome>>()
      const inserts = yield* Queue.unbounded<Job<ActorInsert, CommitOutcome>>()
      const loads = yield* Queue.unbounded<Job<string, ActorRow | null>>()

      const retryStorage = Schedule.min([Schedule.exponential(50), Schedule.spaced(2000)])

      // A batch is retried until the database answers; what an earlier try wrote is recognised by its token.
      // A record that the database refuses for good must not hold up its neighbours: the batch is split to find it.
      const write = <A, R extends CommitOutcome>(
        run: (jobs: ReadonlyArray<Job<A, R>>) => Effect.Effect<Set<string>, SqlError.SqlError>,
        idOf: (item: A) => string
      ) => {
        const attempt = (jobs: ReadonlyArray<Job<A, R>>, isRetry: boolean) =>
          isRetry
            ? Effect.gen(function* () {
                const before = yield* whichWereWritten(
                  sql,
                  jobs.map((job) => job.token),
                  jobs.map((job) => idOf(job.item))
                )
                const rest = jobs.filter((job) => !before.has(idOf(job.item)))
                return rest.length === 0 ? before : new Set([...before, ...(yield* run(rest))])
              })
            : run(jobs)
        const writeAll = (jobs: ReadonlyArray<Job<A, R>>): Effect.Effect<void> => {
          let tries = 0
          return Effect.suspend(() => attempt(jobs, tries++ > 0)).pipe(
            Effect.tapError((error) => Effect.logWarning("The journal could not be written", error.message)),
            Effect.retry({ schedule: retryStorage, while: (error) => error.isRetryable }),
            Effect.matchEffect({
              onSuccess: (written) =>
                Effect.sync(() => {
                  for (const job of jobs) job.done((written.has(idOf(job.item)) ? "committed" : "fenced") as R)
                }),
              onFailure: () =>
                jobs.length === 1
                  ? Effect.sync(() => jobs[0]!.done("failed" as R))
                  : Effect.forEach(jobs, (job) => writeAll([job]), { discard: true })
            })
          )
        }
        return writeAll
      }

      const writeCommits = write<ActorCommit, CommitOutcome>(
        (jobs) =>
          updateActors(
            sql,
            jobs.map((job) => job.item),
            jobs.map((job) => job.token)
          ),
        (item) => item.actorId
      )
      const writeInserts = write<ActorInsert, CommitOutcome>(
        (jobs) =>
          insertActors(
            sql,
            jobs.map((job) => job.item),
            jobs.map((job) => job.token)
          ),
        (item) => item.row.id
      )

      const readLoads = Effect.fnUntraced(function* (jobs: ReadonlyArray<Job<string, ActorRow | null>>) {
        const rows = yield* sql
          .unsafe<RawActor>(
            `select id, kind, account_id, sandbox_id, machine_version, revision, snapshot, pending, deadlines
             from actors where id = any($1::text[])`,
            [textColumn([...new Set(jobs.map((job) => job.item))])]
          )
          .pipe(Effect.retry(retryStorage), Effect.orDie)
        const byId = new Map(rows.map((row) => [row.id, toRow(row)]))
        for (const job of jobs) job.done(byId.get(job.item) ?? null)
      })

      // A batch takes its share of what waits and of what is being written, so that callers in step with each other are split
      // over the writers: one batch's decisions and another's fsync then overlap. Taking all that waits measured a third slower.
      const serve = <A, R>(
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
        return Effect.forEach(Array.from({ length: writers }), () => Effect.forkScoped(Effect.forever(next)), {
          discard: true
        })
      }

      yield* serve(commits, writeCommits, writers)
      yield* serve(inserts, writeInserts, 1)
      yield* serve(loads, readLoads, 1)

      const nextToken = () => tokenPrefix + (++tokens).toString(36)
      const ask = <A, R>(queue: Queue.Queue<Job<A, R>>, item: A) =>
        Effect.callback<R>((resume) => {
          Queue.offerUnsafe(queue, { item, token: nextToken(), done: (outcome) => resume(Effect.succeed(outcome)) })
        })

      return Journal.of({
        commit: (item, done) => {
          Queue.offerUnsafe(commits, { item, token: nextToken(), done })
        },
        insert: (actor) => ask(inserts, actor),
        load: (id) => ask(loads, id),
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
               where (pending <> '[]'::jsonb or due_at is not null) and (pending <> '[]'::jsonb or due_at <= $1)`,
              [BigInt(dueBefore)]
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
              Effect.retry(retryStorage),
              Effect.orDie
            )
      })
    })
  )
}
