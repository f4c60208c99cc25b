/**
 * The journal: where an actor's transition becomes durable.
 *
 * Group commit: records gather while the last batch is being written, and one statement over `unnest` writes them all.
 * Each update carries `where revision = n - 1`, so two owners of one actor can never both commit.
 *
 * @source design.md "The actor"; lab.md "Durable transitions" (two connections overlap one's fsync with the other's work)
 */
import { Context, Effect, Layer, Queue, Schedule } from "effect"
import type { SqlClient, SqlError } from "effect/unstable/sql"
import { changedColumn, int4Column, int8Column, jsonColumn, textColumn } from "./Columns.ts"
import { JournalDatabase } from "./Database.ts"

/** A command of a transition, not done yet. `key` is `revision.index`. */
export interface PendingCommand {
  readonly key: string
  readonly type: string
  readonly params: unknown
}

/** Named instants that an actor waits for: epoch milliseconds, and the event that each one fires. */
export type Deadlines = Readonly<
  Record<string, { readonly at: number; readonly event: { readonly type: string } & Record<string, unknown> }>
>

/** What XState needs to go on: nothing of its internals. */
export interface StoredSnapshot {
  readonly value: string
  readonly context: unknown
}

export interface ActorRow {
  readonly id: string
  readonly kind: string
  readonly accountId: string
  readonly sandboxId: string
  readonly machineVersion: number
  readonly revision: number
  readonly snapshot: StoredSnapshot
  readonly pending: ReadonlyArray<PendingCommand>
  readonly deadlines: Deadlines
}

export interface TransitionRecord {
  readonly at: number
  readonly event: unknown
  readonly from: string | null
  readonly to: string
  readonly commands: ReadonlyArray<PendingCommand>
  readonly cause: string
  readonly requestId: string | null
}

/** One actor's next revision; `transition: null` only tidies pending commands and deadlines and keeps the revision. */
export interface ActorCommit {
  readonly actorId: string
  readonly revision: number
  readonly snapshot: StoredSnapshot
  /** Null: as they were. */
  readonly pending: ReadonlyArray<PendingCommand> | null
  /** Null: as they were. */
  readonly deadlines: Deadlines | null
  readonly dueAt: number | null
  readonly transition: TransitionRecord | null
}

/** A new actor at revision 1, with the key that makes its creation happen once. */
export interface ActorInsert {
  readonly row: ActorRow
  readonly input: unknown
  /** Kept beside the snapshot and never rewritten by transitions; dropped when the actor no longer needs it. */
  readonly payload: unknown
  readonly dueAt: number | null
  readonly createdAt: number
  readonly transition: TransitionRecord
  readonly idempotency: { readonly kind: string; readonly key: string; readonly fingerprint: string } | null
}

/**
 * `fenced`: another owner committed first, or the actor is gone; nothing was written.
 * `failed`: the database refuses this record for good (a value it cannot store); nothing was written.
 */
export type CommitOutcome = "committed" | "fenced" | "failed"

interface Job<A, R> {
  readonly item: A
  readonly token: string
  readonly done: (outcome: R) => void
}

const batchMax = 256
const writers = 2

let tokens = 0
const tokenPrefix = `${process.pid.toString(36)}-${Date.now().toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}-`

const updateBatch = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  jobs: ReadonlyArray<Job<ActorCommit, CommitOutcome>>
) {
  const items = jobs.map((job) => job.item)
  const rows = yield* sql.unsafe<{ readonly id: string }>(updateStatement, [
    textColumn(items.map((item) => item.actorId)),
    int8Column(items.map((item) => BigInt(item.revision))),
    int8Column(items.map((item) => BigInt(item.transition === null ? item.revision : item.revision - 1))),
    jsonColumn(items.map((item) => item.snapshot)),
    changedColumn(items.map((item) => item.pending)),
    changedColumn(items.map((item) => item.deadlines)),
    int8Column(items.map((item) => (item.dueAt === null ? null : BigInt(item.dueAt)))),
    int8Column(items.map((item) => BigInt(item.transition?.at ?? 0))),
    jsonColumn(items.map((item) => item.transition?.event)),
    textColumn(items.map((item) => item.transition?.from ?? null)),
    textColumn(items.map((item) => item.transition?.to ?? null)),
    changedColumn(items.map((item) => (item.transition?.commands.length ? item.transition.commands : null))),
    textColumn(items.map((item) => item.transition?.cause ?? null)),
    textColumn(items.map((item) => item.transition?.requestId ?? null)),
    textColumn(jobs.map((job) => job.token))
  ])
  return new Set(rows.map((row) => row.id))
})

const updateStatement = `
  with input as (
    select * from unnest(
      $1::text[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::int8[],
      $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[]
    ) as i (id, revision, expected, snapshot, pending, deadlines, due_at, at, event, from_state, to_state, commands, cause, request_id, token)
  ), updated as (
    update actors a
    set revision = i.revision, snapshot = i.snapshot::jsonb, pending = coalesce(i.pending::jsonb, a.pending),
        deadlines = coalesce(i.deadlines::jsonb, a.deadlines), due_at = i.due_at
    from input i
    where a.id = i.id and a.revision = i.expected
    returning a.id
  ), logged as (
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token)
    select i.id, i.revision, i.at, i.event::jsonb, i.from_state, i.to_state, coalesce(i.commands::jsonb, '[]'), i.cause, i.request_id, i.token
    from input i join updated u on u.id = i.id
    where i.to_state is not null
  )
  select id from updated`

const insertStatement = `
  with input as (
    select * from unnest(
      $1::text[], $2::text[], $3::text[], $4::text[], $5::int4[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
      $11::int8[], $12::int8[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[]
    ) as i (id, kind, account_id, sandbox_id, machine_version, input, payload, snapshot, pending, deadlines,
            due_at, created_at, event, to_state, commands, cause, request_id, token, key_kind, key, fingerprint)
  ), keys as (
    insert into idempotency_keys (account_id, kind, key, fingerprint, target_id, created_at)
    select account_id, key_kind, key, fingerprint, id, created_at from input where key is not null
    on conflict do nothing
    returning target_id
  ), inserted as (
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, payload, snapshot, pending, deadlines, due_at, created_at)
    select id, kind, account_id, sandbox_id, machine_version, 1, input::jsonb, payload::jsonb, snapshot::jsonb, pending::jsonb, deadlines::jsonb, due_at, created_at
    from input i
    where i.key is null or exists (select 1 from keys k where k.target_id = i.id)
    on conflict do nothing
    returning id
  ), logged as (
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token)
    select i.id, 1, i.created_at, i.event::jsonb, null, i.to_state, i.commands::jsonb, i.cause, i.request_id, i.token
    from input i join inserted u on u.id = i.id
  )
  select id from inserted`

/** The rows that an insert batch made; also usable inside a caller's own transaction. */
export const insertActors = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<ActorInsert>,
  tokensOf: ReadonlyArray<string>
) {
  const rows = yield* sql.unsafe<{ readonly id: string }>(insertStatement, [
    textColumn(items.map((item) => item.row.id)),
    textColumn(items.map((item) => item.row.kind)),
    textColumn(items.map((item) => item.row.accountId)),
    textColumn(items.map((item) => item.row.sandboxId)),
    int4Column(items.map((item) => item.row.machineVersion)),
    jsonColumn(items.map((item) => item.input)),
    textColumn(items.map((item) => (item.payload === null ? null : JSON.stringify(item.payload)))),
    jsonColumn(items.map((item) => item.row.snapshot)),
    jsonColumn(items.map((item) => item.row.pending)),
    jsonColumn(items.map((item) => item.row.deadlines)),
    int8Column(items.map((item) => (item.dueAt === null ? null : BigInt(item.dueAt)))),
    int8Column(items.map((item) => BigInt(item.createdAt))),
    jsonColumn(items.map((item) => item.transition.event)),
    textColumn(items.map((item) => item.transition.to)),
    jsonColumn(items.map((item) => item.transition.commands)),
    textColumn(items.map((item) => item.transition.cause)),
    textColumn(items.map((item) => item.transition.requestId)),
    textColumn(tokensOf),
    textColumn(items.map((item) => item.idempotency?.kind ?? null)),
    textColumn(items.map((item) => item.idempotency?.key ?? null)),
    textColumn(items.map((item) => item.idempotency?.fingerprint ?? null))
  ])
  return new Set(rows.map((row) => row.id))
})

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

/** Was this very commit written, although its answer was lost? The token tells it apart from another owner's. */
const whichWereWritten = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tokensOf: ReadonlyArray<string>,
  ids: ReadonlyArray<string>
) {
  const rows = yield* sql.unsafe<{ readonly actor_id: string }>(
    `select t.actor_id from transitions t join unnest($1::text[], $2::text[]) as i (id, token) on t.actor_id = i.id and t.commit_token = i.token`,
    [textColumn(ids), textColumn(tokensOf)]
  )
  return new Set(rows.map((row) => row.actor_id))
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
        (jobs) => updateBatch(sql, jobs),
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
              readonly has_pending: boolean
              readonly due_at: bigint | null
            }>(
              `select id, kind, pending <> '[]'::jsonb as has_pending, due_at from actors
               where (pending <> '[]'::jsonb or due_at is not null) and (pending <> '[]'::jsonb or due_at <= $1)`,
              [BigInt(dueBefore)]
            )
            .pipe(
              Effect.map((rows) =>
                rows.map((row) => ({
                  id: row.id,
                  kind: row.kind,
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
