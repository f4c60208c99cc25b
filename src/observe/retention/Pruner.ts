/**
 * Deletes rows past their retention in small batches, so that no statement holds the tables for long. Each query uses an index over ages: a pass
 * reads what is due, not what is kept.
 *
 * Output streams that another statement uses are left for the next pass. Deleted Sandboxes go with everything that belongs to them.
 *
 * A deleted Sandbox goes only after all its costs are posted.
 *
 * @source contract-details.md "A deleted Sandbox stays listed and inspectable", "Keys live as long as the thing that they made"
 */
import { Cause, Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { Settings } from "../../Config.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { inhabitedStates } from "../../sandbox/sandboxStates.ts"
import { Int8, textColumn } from "../../store/Columns.ts"
import { outputRoom } from "../../store/OutputRoom.ts"
import { Ledger } from "../../wallet/Ledger.ts"

const batch = 1000
const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** Keeps the number of deleted rows, by account and UTC hour. `gone`: a query for the `account_id` and the time `at` of each. */
const keepCounts = (what: "executes" | "operations", gone: string) => `
  insert into usage_hours as h (account_id, hour, ${what})
  select account_id, at / ${hourMs} * ${hourMs}, count(*) from (${gone}) g group by 1, 2 order by 1, 2
  on conflict (account_id, hour) do update set ${what} = h.${what} + excluded.${what}`

type Removed = Effect.Effect<number, SqlError.SqlError | Schema.SchemaError>

const Parameters = Schema.Array(Schema.Unknown)
const Thing = Schema.Struct({ id: Schema.String })

/** Repeats a statement that returns its number of rows, until that is less than a batch. */
const repeatedly = (statement: Removed): Removed =>
  Effect.gen(function* () {
    let total = 0
    while (true) {
      const count = yield* statement
      total += count
      if (count < batch) return total
    }
  })

const parts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const { retentionDays, endedRetentionDays, logBytesPerSandbox } = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const cutoff = BigInt(now - retentionDays * dayMs)
  // Its idempotency key lives for at least a day.
  const deletedCutoff = BigInt(now - Math.max(retentionDays, 1) * dayMs)
  // The content of a deleted Sandbox is kept as long as the Sandbox.
  const endedCutoff = BigInt(now - Math.max(endedRetentionDays, retentionDays) * dayMs)
  const room = outputRoom(sql, sql)

  /** `which` is a condition on chunks. */
  const forgetChunks = (which: string, parameters: ReadonlyArray<unknown>): Removed =>
    repeatedly(
      room
        .forget(`select owner_id, stream, start_offset from output_chunks where ${which} limit ${batch}`, parameters)
        .pipe(Effect.map(({ chunks }) => chunks))
    )

  const counted = (statement: string, parameters: ReadonlyArray<unknown>): Removed =>
    SqlSchema.findOne({
      Request: Parameters,
      Result: Schema.Struct({ count: Schema.Int }),
      execute: (given) => sql.unsafe(statement, given)
    })(parameters).pipe(
      Effect.catchTag("NoSuchElementError", Effect.die),
      Effect.map(({ count }) => count)
    )

  /**
   * Deletes actors with their output, transitions and keys. Every actor is deleted here, together with its transitions, so counts based on them must
   * be done before.
   */
  const forgetThings = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    const things = [textColumn(ids)]
    let total = yield* forgetChunks("owner_id = any($1::text[])", things)
    total += yield* counted(
      `with gone as (
         delete from outputs o where owner_id = any($1::text[])
           and not exists (select 1 from output_chunks c where c.owner_id = o.owner_id and c.stream = o.stream) returning 1)
       select count(*)::int4 as count from gone`,
      things
    )
    // An actor whose output was just in use stays for the next pass.
    total += yield* counted(
      `with gone as (
         delete from actors a where a.id = any($1::text[]) and not exists (select 1 from outputs o where o.owner_id = a.id)
         returning a.id, a.kind, a.account_id, a.created_at
       ), counted as (${keepCounts("operations", "select account_id, created_at as at from gone where kind = 'operation'")}
       ), log as (delete from transitions t using gone g where t.actor_id = g.id returning t.account_key, t.xact),
       horizon as (
         insert into transition_horizons (account_key, forgotten)
         select distinct on (account_key) account_key, xact from log where account_key is not null order by account_key, xact desc
         on conflict (account_key) do update set forgotten = greatest(transition_horizons.forgotten, excluded.forgotten)),
       keys as (delete from idempotency_keys k using gone g where k.target_id = g.id),
       declined as (delete from declined_events d using gone g where d.actor_id = g.id),
       envs as (delete from sandbox_envs e using gone g where e.sandbox_id = g.id)
       select count(*)::int4 as count from gone`,
      things
    )
    return total
  })

  /** Deletes actors by a condition, batch by batch, until a batch deletes none. */
  const forgetAll = Effect.fnUntraced(function* (which: string, parameters: ReadonlyArray<unknown>) {
    const find = SqlSchema.findAll({
      Request: Parameters,
      Result: Thing,
      execute: (given) => sql.unsafe(`select id from actors where ${which} limit ${batch}`, given)
    })
    let total = 0
    while (true) {
      const things = yield* find(parameters)
      const gone = things.length === 0 ? 0 : yield* forgetThings(things.map(({ id }) => id))
      total += gone
      if (things.length < batch || gone === 0) return total
    }
  })

  const oldOutput = forgetChunks("at < $1", [cutoff])

  // The writer of output already trims what exceeds a Sandbox's share. The rest here is from a process that was killed before it did, or from a
  // larger share in earlier settings.
  const findLarge = SqlSchema.findAll({
    Request: Int8,
    Result: Schema.Struct({ sandbox_id: Schema.String, stored_bytes: Int8 }),
    execute: (over) => sql`select sandbox_id, stored_bytes from output_totals where stored_bytes > ${over}`
  })
  const largeSandboxes = Effect.gen(function* () {
    let total = 0
    for (const { sandbox_id, stored_bytes } of yield* findLarge(logBytesPerSandbox)) {
      total += yield* room.cut(sandbox_id, stored_bytes, logBytesPerSandbox)
    }
    return total
  })

  const samples = repeatedly(
    counted(
      // The newest CPU time of a boot stays as long as another sample may come, because growth is computed from it. Waking is not a new boot.
      `with doomed as (
              select sandbox_id, at from telemetry_samples t where at < $1
                and (cpu_seconds is null
                     or exists (select 1 from telemetry_samples n where n.sandbox_id = t.sandbox_id and n.at > t.at and n.cpu_seconds is not null)
                     or not exists (select 1 from actors a where a.id = t.sandbox_id and a.sandbox_status = any($2::text[])))
              limit ${batch}),
            gone as (delete from telemetry_samples t using doomed d where t.sandbox_id = d.sandbox_id and t.at = d.at returning 1)
       select count(*)::int4 as count from gone`,
      [cutoff, textColumn(inhabitedStates)]
    )
  )

  const executions = repeatedly(
    counted(
      `with doomed as (select id from executions where finished_at < $1 limit ${batch}),
            gone as (delete from executions e using doomed d where e.id = d.id returning e.account_id, e.started_at as at),
            counted as (${keepCounts("executes", "select account_id, at from gone")})
       select count(*)::int4 as count from gone`,
      [cutoff]
    )
  )

  /** Ended actors of a Sandbox that still exists. An actor with pending work is not done. The record of a host that was given up is kept for ever. */
  const endedThings = forgetAll(
    "kind not in ('sandbox', 'host') and ended_at is not null and ended_at < $1 and pending = '[]'::jsonb and due_at is null order by ended_at",
    [endedCutoff]
  )

  const startKeys = repeatedly(
    counted(
      `with doomed as (
         select account_id, kind, key from idempotency_keys where kind like 'sandbox.start:%' and created_at < $1 limit ${batch}
       ), gone as (
         delete from idempotency_keys k using doomed d
         where k.account_id = d.account_id and k.kind = d.kind and k.key = d.key returning 1)
       select count(*)::int4 as count from gone`,
      [endedCutoff]
    )
  )

  const findDead = SqlSchema.findAll({
    Request: Schema.BigInt,
    Result: Thing,
    execute: (cutoff) => sql`
      select id from actors where kind = 'sandbox' and ended_at is not null and ended_at < ${cutoff} order by ended_at limit 100`
  })
  const deletedSandboxes = Effect.gen(function* () {
    let total = 0
    for (const { id } of yield* findDead(deletedCutoff)) {
      // Its costs stay in the ledger, which reads them from its transitions.
      const isPosted = yield* ledger.foldSandbox(id).pipe(
        Effect.map((folded) => folded === null || folded.isClosed),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logWarning(`${id} is past its retention, but its costs could not be posted`, defect), false)
        )
      )
      if (!isPosted) continue
      total += yield* forgetChunks("sandbox_id = $1", [id])
      total += yield* forgetAll("sandbox_id = $1 and kind <> 'sandbox'", [id])
      yield* sql`delete from outputs where sandbox_id = ${id}`
      yield* sql`delete from output_totals where sandbox_id = ${id}`
      yield* sql`delete from telemetry_samples where sandbox_id = ${id}`
      yield* sql.unsafe(
        `with gone as (delete from executions where sandbox_id = $1 returning account_id, started_at as at)
         ${keepCounts("executes", "select account_id, at from gone")}`,
        [id]
      )
      total += yield* forgetThings([id])
    }
    return total
  })

  return {
    "old output": oldOutput,
    "output beyond a Sandbox's share": largeSandboxes,
    "old samples": samples,
    "old executes": executions,
    "actors that ended long ago": endedThings,
    "old idempotency keys of starts": startKeys,
    "Sandboxes that were deleted long ago": deletedSandboxes,
    "free space of removed output": Effect.as(room.vacuum, 0)
  } satisfies Record<string, Removed>
})

/** One pass: deletes everything that is due, in batches. Returns the number of deleted rows. A failure in one part does not stop the others. */
export const prune = Effect.fn("Pruner.prune")(function* () {
  let total = 0
  const due: Readonly<Record<string, Removed>> = yield* parts
  for (const [what, part] of Object.entries(due)) {
    total += yield* part.pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterrupts(cause)
          ? Effect.failCause(cause)
          : Effect.as(Effect.logWarning(`Could not remove what is past its retention: ${what}`, cause), 0)
      )
    )
  }
  return total
})

export const Pruner = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { pruneIntervalMs } = yield* Settings
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const ledger = yield* Ledger
      const pass = prune().pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.provideService(Ledger, ledger),
        Effect.provideService(Settings, settings),
        Effect.catchCause((cause) => Effect.logWarning("Could not remove everything that is past its retention", cause))
      )
      yield* worker("pruner", pass.pipe(Effect.delay(pruneIntervalMs), Effect.forever))
    })
  )
}
