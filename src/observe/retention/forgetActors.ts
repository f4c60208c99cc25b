/** Deletes actors with everything that belongs to them: output, transitions, keys, rejected events, variables. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "../../store/Columns.ts"
import type { outputRoom } from "../../store/OutputRoom.ts"
import { batch, counted, keepCounts, Parameters, type Removed, repeatedly } from "./removal.ts"

const Thing = Schema.Struct({ id: Schema.String })

/** @param room The caller's, which counts what is deleted until the next vacuum. */
export const forgetActors = (sql: SqlClient.SqlClient, room: ReturnType<typeof outputRoom>) => {
  /** `which` is a condition on chunks. */
  const forgetChunks = (which: string, parameters: ReadonlyArray<unknown>): Removed =>
    repeatedly(
      room
        .forget(`select owner_id, stream, start_offset from output_chunks where ${which} limit ${batch}`, parameters)
        .pipe(Effect.map(({ chunks }) => chunks))
    )

  /**
   * Deletes actors with their output, transitions and keys. Every actor is deleted here, together with its transitions, so counts based on them must
   * be done before.
   */
  const forgetThings = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    const things = [textColumn(ids)]
    let total = yield* forgetChunks("owner_id = any($1::text[])", things)
    total += yield* counted(
      sql,
      `with gone as (
         delete from outputs o where owner_id = any($1::text[])
           and not exists (select 1 from output_chunks c where c.owner_id = o.owner_id and c.stream = o.stream) returning 1)
       select count(*)::int4 as count from gone`,
      things
    )
    // An actor whose output was just in use stays for the next pass.
    total += yield* counted(
      sql,
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
       envs as (delete from sandbox_envs e using gone g where e.sandbox_id = g.id),
       origins as (delete from sandbox_origins o using gone g where o.sandbox_id = g.id),
       rollbacks as (delete from sandbox_rollbacks r using gone g where r.sandbox_id = g.id)
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

  return { forgetChunks, forgetThings, forgetAll }
}

export type ForgetActors = ReturnType<typeof forgetActors>
