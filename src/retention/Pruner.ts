/**
 * Forgets what is past its retention, a small batch at a time, so that no statement holds the tables for long.
 *
 * Streams that another statement is at are left for the next pass. Deleted Sandboxes go with all that belongs to them.
 *
 * @source contract-details.md "A deleted Sandbox stays listed and inspectable"
 */
import { Clock, Effect, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Settings } from "../Config.ts"
import { outputRoom } from "../store/OutputRoom.ts"

const batch = 1000
const dayMs = 24 * 60 * 60 * 1000

/** One pass: everything that is due, in batches. Returns how many rows went. */
export const prune = Effect.fn("Pruner.prune")(function* () {
  const sql = yield* SqlClient.SqlClient
  const { retentionDays, logBytesPerSandbox } = yield* Settings
  const cutoff = BigInt((yield* Clock.currentTimeMillis) - retentionDays * dayMs)

  const room = outputRoom(sql, sql)
  /** `which` is a condition on chunks. */
  const forgetChunks = (which: string, parameters: ReadonlyArray<unknown>) =>
    room
      .forget(`select owner_id, stream, start_offset from output_chunks where ${which} limit ${batch}`, parameters)
      .pipe(Effect.map(({ chunks }) => [{ count: chunks }]))

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

  let total = yield* repeatedly(forgetChunks("at < $1", [cutoff]))

  // Whoever stores output cuts what is over its share; what is left here is of a process that was killed over it, or of a larger share before.
  const large = yield* sql<{ readonly sandbox_id: string; readonly stored_bytes: bigint }>`
    select sandbox_id, stored_bytes from output_totals where stored_bytes > ${BigInt(logBytesPerSandbox)}`
  for (const { sandbox_id, stored_bytes } of large) {
    total += yield* room.cut(sandbox_id, Number(stored_bytes), logBytesPerSandbox)
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
    total += yield* repeatedly(forgetChunks("sandbox_id = $1", [id]))
    total += yield* repeatedly(forgetActors(sql, sql`sandbox_id = ${id} and kind <> 'sandbox'`))
    yield* sql`delete from outputs where sandbox_id = ${id}`
    yield* sql`delete from output_totals where sandbox_id = ${id}`
    yield* sql`delete from telemetry_samples where sandbox_id = ${id}`
    yield* sql`delete from executions where sandbox_id = ${id}`
    total += yield* repeatedly(forgetActors(sql, sql`id = ${id}`))
  }
  yield* room.vacuum
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

export const Pruner = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { pruneIntervalMs } = yield* Settings
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const pass = prune().pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.provideService(Settings, settings),
        Effect.catchCause((cause) => Effect.logWarning("What is past its retention could not all be removed", cause))
      )
      yield* pass.pipe(Effect.delay(pruneIntervalMs), Effect.forever, Effect.forkScoped)
    })
  )
}
