/**
 * Forgets what is past its retention, a small batch at a time, so that no statement holds the tables for long.
 *
 * Rows that another process is at are skipped. Deleted Sandboxes go with all that belongs to them.
 *
 * @source contract-details.md "A deleted Sandbox stays listed and inspectable"
 */
import { Clock, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Settings } from "../Config.ts"

const batch = 1000
const dayMs = 24 * 60 * 60 * 1000

/** One pass: everything that is due, in batches. Returns how many rows went. */
export const prune = Effect.fn("Pruner.prune")(function* () {
  const sql = yield* SqlClient.SqlClient
  const { retentionDays, logBytesPerSandbox } = yield* Settings
  const cutoff = BigInt((yield* Clock.currentTimeMillis) - retentionDays * dayMs)

  /** Chunks that go, and the first byte that their streams still keep. */
  const dropChunks = (which: Statement.Fragment) => sql<{ readonly count: number }>`
    with doomed as (
      select owner_id, stream, start_offset from output_chunks where ${which} limit ${batch} for update skip locked
    ), gone as (
      delete from output_chunks c using doomed d
      where c.owner_id = d.owner_id and c.stream = d.stream and c.start_offset = d.start_offset
      returning c.owner_id, c.stream, c.end_offset
    ), kept as (
      update outputs o set retained_offset = greatest(o.retained_offset, g.upto)
      from (select owner_id, stream, max(end_offset) as upto from gone group by 1, 2) g
      where o.owner_id = g.owner_id and o.stream = g.stream
    )
    select count(*)::int4 as count from gone`

  /** Repeats a statement that reports how much it did, until it does less than a batch. */
  const repeatedly = <E, R>(statement: Effect.Effect<ReadonlyArray<{ readonly count: number }>, E, R>) =>
    Effect.gen(function* () {
      let total = 0
      while (true) {
        const [done] = yield* statement
        total += done?.count ?? 0
        if ((done?.count ?? 0) < batch) return total
      }
    })

  let total = yield* repeatedly(dropChunks(sql`at < ${cutoff}`))

  const large = yield* sql<{ readonly sandbox_id: string; readonly excess: bigint }>`
    select sandbox_id, (sum(next_offset - retained_offset) - ${BigInt(logBytesPerSandbox)})::int8 as excess
    from outputs group by sandbox_id having sum(next_offset - retained_offset) > ${BigInt(logBytesPerSandbox)}`
  for (const { sandbox_id, excess } of large) {
    let left = Number(excess)
    while (left > 0) {
      const [gone] = yield* sql<{ readonly bytes: bigint | null }>`
        with doomed as (
          select owner_id, stream, start_offset from output_chunks where sandbox_id = ${sandbox_id} order by at, seq limit 100 for update skip locked
        ), gone as (
          delete from output_chunks c using doomed d
          where c.owner_id = d.owner_id and c.stream = d.stream and c.start_offset = d.start_offset
          returning c.owner_id, c.stream, c.start_offset, c.end_offset
        ), kept as (
          update outputs o set retained_offset = greatest(o.retained_offset, g.upto)
          from (select owner_id, stream, max(end_offset) as upto from gone group by 1, 2) g
          where o.owner_id = g.owner_id and o.stream = g.stream
        )
        select sum(end_offset - start_offset)::int8 as bytes from gone`
      const bytes = Number(gone?.bytes ?? 0)
      if (bytes === 0) break
      left -= bytes
      total++
    }
  }

  total += yield* repeatedly(sql<{ readonly count: number }>`
    with doomed as (select sandbox_id, at from telemetry_samples where at < ${cutoff} limit ${batch}),
         gone as (delete from telemetry_samples t using doomed d where t.sandbox_id = d.sandbox_id and t.at = d.at returning 1)
    select count(*)::int4 as count from gone`)
  total += yield* repeatedly(sql<{ readonly count: number }>`
    with doomed as (select id from executions where finished_at < ${cutoff} limit ${batch}),
         gone as (delete from executions e using doomed d where e.id = d.id returning 1)
    select count(*)::int4 as count from gone`)

  const dead = yield* sql<{ readonly id: string }>`
    select id from actors
    where kind = 'sandbox' and status = 'deleted' and (snapshot -> 'context' ->> 'deletedAt')::int8 < ${cutoff} limit 100`
  for (const { id } of dead) {
    total += yield* repeatedly(dropChunks(sql`sandbox_id = ${id}`))
    total += yield* repeatedly(forgetActors(sql, sql`sandbox_id = ${id} and kind <> 'sandbox'`))
    yield* sql`delete from outputs where sandbox_id = ${id}`
    yield* sql`delete from telemetry_samples where sandbox_id = ${id}`
    yield* sql`delete from executions where sandbox_id = ${id}`
    total += yield* repeatedly(forgetActors(sql, sql`id = ${id}`))
  }
  return total
})

const forgetActors = (sql: SqlClient.SqlClient, which: Statement.Fragment) => sql<{
  readonly count: number
}>`
  with doomed as (select id from actors where ${which} limit ${batch}),
       log as (delete from transitions t using doomed d where t.actor_id = d.id),
       keys as (delete from idempotency_keys k using doomed d where k.target_id = d.id),
       gone as (delete from actors a using doomed d where a.id = d.id returning 1)
  select count(*)::int4 as count from gone`

/** Owners whose streams have nothing left and whose operation is gone. */
const dropEmptyOutputs = (sql: SqlClient.SqlClient) => sql`
  delete from outputs o
  where o.source <> 'process' and o.retained_offset = o.next_offset
    and not exists (select 1 from output_chunks c where c.owner_id = o.owner_id and c.stream = o.stream)`

export const Pruner = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { pruneIntervalMs } = yield* Settings
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const pass = prune().pipe(
        Effect.andThen(dropEmptyOutputs(sql)),
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.provideService(Settings, settings),
        Effect.catchCause((cause) => Effect.logWarning("What is past its retention could not all be removed", cause))
      )
      yield* pass.pipe(Effect.delay(pruneIntervalMs), Effect.forever, Effect.forkScoped)
    })
  )
}
