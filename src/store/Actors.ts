/**
 * Reads of committed actors: single rows (concurrent reads go out as one query), lists and logs.
 *
 * They read the database, so every process sees the same. Only a process that surely holds it alone answers a Sandbox that it has in memory as it
 * read it last (`SoleOwner.ts`).
 */
import { Cause, Context, Effect, Layer, Queue } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { vitalWorker } from "../platform/worker/Worker.ts"
import { BoundedMap } from "./BoundedMap.ts"
import { int8Column, textColumn } from "./Columns.ts"
import { MaintenanceDatabase } from "./Database.ts"
import { forAMoment } from "./DatabaseFault.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"
import type { PendingCommand } from "./JournalRecord.ts"
import type { OutputStreamName, StoredOffsets } from "./OutputChunk.ts"
import { fieldOf } from "./SnapshotFields.ts"
import { SoleOwnership } from "./SoleOwner.ts"
import { stillPendingOf } from "./StillPending.ts"
import { transitionEra } from "./TransitionEra.ts"

export interface ActorRecord<C = unknown, P = unknown> {
  readonly id: string
  readonly kind: string
  readonly accountId: string
  readonly sandboxId: string
  readonly revision: number
  readonly status: string
  readonly createdAt: number
  readonly context: C
  readonly payload: P
}

/** An actor that was read alone, with the ends of its output at the same instant: zero for all but operations. */
export interface ReadActor<C = unknown, P = unknown> extends ActorRecord<C, P> {
  readonly stored: StoredOffsets
}

export interface LogEntry {
  readonly revision: number
  readonly at: number
  readonly event: { readonly type: string; readonly [field: string]: unknown }
  readonly from: string | null
  readonly to: string
  readonly commands: ReadonlyArray<PendingCommand>
  readonly stillPending: ReturnType<typeof stillPendingOf>
  readonly cause: string
  readonly requestId: string | null
}

/** The account of what belongs to the operator: no account has this id. */
export const operatorAccount = ""

export interface ActorFilter {
  readonly kind: string
  readonly accountId: string
  /** Also those of the operator that have not ended. */
  readonly withOperators?: boolean
  readonly sandboxId?: string | null
  /** Any of them. */
  readonly status?: ReadonlyArray<string> | null
  readonly workspaceId?: string | null
  /** Exactly that of the context. */
  readonly name?: string | null
  /** Every pair must be in the snapshot context's `metadata`. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Only those older than this one. */
  readonly before: { readonly createdAt: number; readonly id: string } | null
  readonly limit: number | null
}

interface RawRead extends Raw {
  readonly stdout_end: bigint | null
  readonly stderr_end: bigint | null
}

interface Raw {
  readonly id: string
  readonly kind: string
  readonly account_id: string
  readonly sandbox_id: string
  readonly revision: bigint
  readonly status: string
  readonly created_at: bigint
  readonly context: unknown
  readonly payload: unknown
}

const toRecord = (raw: Raw): ActorRecord => ({
  id: raw.id,
  kind: raw.kind,
  accountId: raw.account_id,
  sandboxId: raw.sandbox_id,
  revision: Number(raw.revision),
  status: raw.status,
  createdAt: Number(raw.created_at),
  context: raw.context,
  payload: raw.payload
})

const toRead = (raw: RawRead): ReadActor => ({
  ...toRecord(raw),
  stored: { stdout: Number(raw.stdout_end ?? 0), stderr: Number(raw.stderr_end ?? 0) }
})

const columns =
  "id, kind, account_id, sandbox_id, revision, status, created_at, snapshot -> 'context' as context, payload"
const batchMax = 256

const endOf = (stream: OutputStreamName): string =>
  `case when a.kind = 'operation' then (select o.next_offset from outputs o where o.owner_id = a.id and o.stream = '${stream}') end as ${stream}_end`

const readColumns = (known: string): string => `
  a.id, a.kind, a.account_id, a.sandbox_id, a.revision, a.status, a.created_at,
  case when a.revision = ${known} then null else a.snapshot -> 'context' end as context, a.payload, ${endOf("stdout")}, ${endOf("stderr")}`

/** Sandboxes are read far more often than they change. The database is always asked, but does not send again the revision that this process already has. */
const readStatement = `
  select ${readColumns("known.revision")}
  from unnest((select $1::text[]), (select $2::int8[])) as known (id, revision) join actors a on a.id = known.id`
/** In both, the planner sees no length of an array: by that it would plan again at each call, which costs more than the read. */
const readOneStatement = `select ${readColumns("$2::int8")} from actors a where a.id = $1::text`
const rememberedKind = "sandbox"
const rememberedMax = 512

/** Reads it once. */
const eraOf = (maintenance: MaintenanceDatabase["Service"]): Effect.Effect<string> => {
  let known: string | null = null
  const found = transitionEra(maintenance).pipe(
    Effect.catchTag(["SchemaError", "NoSuchElementError"], Effect.die),
    Effect.retry(forAMoment),
    Effect.orDie,
    Effect.tap((era) => Effect.sync(() => (known = era)))
  )
  return Effect.suspend(() => (known === null ? found : Effect.succeed(known)))
}

/** Reads single rows, those that are asked for concurrently in one query. */
const singleReads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { patiently } = yield* DatabaseWatch
  const owner = yield* SoleOwnership
  const asked = yield* Queue.unbounded<{
    readonly id: string
    readonly answer: (record: ReadActor | null) => void
    readonly fail: (fault: unknown) => void
  }>()
  const remembered = new BoundedMap<string, ReadActor>(rememberedMax)
  const remember = (record: ReadActor): ReadActor => {
    if (record.kind === rememberedKind) remembered.set(record.id, record)
    return record
  }
  const readBatch = Queue.takeBetween(asked, 1, batchMax).pipe(
    Effect.flatMap((batch) => {
      const known = new Map(batch.map(({ id }) => [id, remembered.get(id) ?? null]))
      const revisionOf = (record: ReadActor | null) => BigInt(record?.revision ?? 0)
      const rows = Effect.suspend(() => {
        const [[id, record] = ["", null]] = known
        if (known.size === 1) return sql.unsafe<RawRead>(readOneStatement, [id, revisionOf(record)])
        return sql.unsafe<RawRead>(readStatement, [
          textColumn([...known.keys()]),
          int8Column([...known.values()].map(revisionOf))
        ])
      })
      return rows.pipe(
        Effect.retry(forAMoment),
        Effect.map(
          (rows) =>
            new Map(rows.map((row) => [row.id, remember(row.context === null ? known.get(row.id)! : toRead(row))]))
        ),
        Effect.matchCauseEffect({
          onFailure: (cause) => Effect.sync(() => batch.forEach(({ fail }) => fail(Cause.squash(cause)))),
          onSuccess: (found) => Effect.sync(() => batch.forEach(({ id, answer }) => answer(found.get(id) ?? null)))
        })
      )
    })
  )
  for (let reader = 0; reader < 2; reader++) yield* vitalWorker("actor reads", Effect.forever(readBatch))

  const ask = (id: string) =>
    patiently<ReadActor | null, never>((resume) => {
      Queue.offerUnsafe(asked, {
        id,
        answer: (record) => resume(Effect.succeed(record)),
        fail: (fault) => resume(Effect.die(fault))
      })
    })
  /** One that is read again, but is not in memory, is loaded for the next read. */
  const isNewest = (id: string): boolean => {
    const known = remembered.get(id)
    if (known === undefined || !owner.isSure()) return false
    const revision = owner.revisionOf(id)
    if (revision === null) owner.awaken(known.kind, id)
    return revision === known.revision
  }
  return (id: string) => Effect.suspend(() => (isNewest(id) ? Effect.succeed(remembered.get(id)!) : ask(id)))
})

export class Actors extends Context.Service<
  Actors,
  {
    /** Two reads of one revision of a Sandbox may give the same record. */
    readonly read: (id: string) => Effect.Effect<ReadActor | null>
    /** Newest first. */
    readonly list: (filter: ActorFilter) => Effect.Effect<ReadonlyArray<ActorRecord>>
    /** Oldest first, after a revision. */
    readonly log: (id: string, afterRevision: number, limit: number) => Effect.Effect<ReadonlyArray<LogEntry>>
    /** Differs in a restored copy, where a revision may be another entry. */
    readonly era: Effect.Effect<string>
  }
>()("atoll/store/Actors") {
  static readonly layer = Layer.effect(
    Actors,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const maintenance = yield* MaintenanceDatabase
      const read = yield* singleReads
      const readable = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
        effect.pipe(Effect.retry(forAMoment), Effect.orDie)

      return Actors.of({
        era: eraOf(maintenance),
        read,
        list: (filter) => {
          const isOwn = sql`account_id = ${filter.accountId}`
          const conditions = [
            sql`kind = ${filter.kind}`,
            filter.withOperators === true
              ? sql`(${isOwn} or (account_id = ${operatorAccount} and ended_at is null))`
              : isOwn
          ]
          if (filter.sandboxId != null) conditions.push(sql`sandbox_id = ${filter.sandboxId}`)
          // A Sandbox's status has an index.
          const status = filter.kind === "sandbox" ? sql`kind = 'sandbox' and sandbox_status` : sql`status`
          if (filter.status != null) conditions.push(sql`${status} = any(${textColumn(filter.status)}::text[])`)
          if (filter.workspaceId != null) conditions.push(sql`workspace_id = ${filter.workspaceId}`)
          if (filter.name != null) {
            conditions.push(sql`${sql.literal(fieldOf("actors", "name", "text"))} = ${filter.name}`)
          }
          if (filter.before !== null) {
            conditions.push(sql`(created_at, id) < (${BigInt(filter.before.createdAt)}, ${filter.before.id})`)
          }
          if (Object.keys(filter.metadata ?? {}).length > 0) {
            const labels = JSON.stringify({ [filter.accountId]: filter.metadata })
            conditions.push(sql`kind = 'sandbox' and labels @> ${labels}::text::jsonb`)
          }
          const limit = filter.limit === null ? sql`` : sql`limit ${filter.limit}`
          return readable(
            sql<Raw>`select ${sql.literal(columns)} from actors where ${sql.and(conditions)} order by created_at desc, id desc ${limit}`.pipe(
              Effect.map((rows) => rows.map(toRecord))
            )
          )
        },
        log: (id, afterRevision, limit) =>
          readable(
            sql<
              {
                readonly revision: bigint
                readonly at: bigint
                readonly from_state: string | null
                readonly to_state: string
                readonly request_id: string | null
                readonly still_pending: string | null
              } & Pick<LogEntry, "event" | "commands" | "cause">
            >`
              select revision, at, event, from_state, to_state, commands, still_pending, cause, request_id from transitions
              where actor_id = ${id} and revision > ${BigInt(afterRevision)} order by revision limit ${limit}`.pipe(
              Effect.map((rows) =>
                rows.map((row) => ({
                  revision: Number(row.revision),
                  at: Number(row.at),
                  event: row.event,
                  from: row.from_state,
                  to: row.to_state,
                  commands: row.commands,
                  stillPending: stillPendingOf(row.still_pending),
                  cause: row.cause,
                  requestId: row.request_id
                }))
              )
            )
          )
      })
    })
  )
}
