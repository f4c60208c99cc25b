/**
 * A request limit of one account in fixed windows of a minute. It is counted in the database, by the database's clock, so it is exact with any number
 * of processes. A stored window beyond the next one dates from before that clock was set back, and is ignored.
 *
 * @source contract.md "per-account analytics request limit"
 */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RateLimited } from "../../../schemas/Errors.ts"

const windowMs = 60_000

/** Counts one request, or fails with the seconds until the next window. */
export const countRequest = Effect.fnUntraced(function* (accountId: string, kind: string, limit: number) {
  const sql = yield* SqlClient.SqlClient
  const width = sql.literal(String(windowMs))
  // A statement that waited for the row may arrive with the previous window.
  const isNow = sql`w.window_start between excluded.window_start and excluded.window_start + ${width}`
  const count = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ is_counted: Schema.Boolean, left_ms: Schema.Int }),
    execute: () => sql`
      with clock as (select (extract(epoch from clock_timestamp()) * 1000)::int8 as now),
      counted as (
        insert into rate_windows as w (account_id, kind, window_start, requests)
        select ${accountId}, ${kind}, now - now % ${width}, 1 from clock
        on conflict (account_id, kind) do update
          set requests = case when ${isNow} then w.requests + 1 else 1 end,
              window_start = case when ${isNow} then w.window_start else excluded.window_start end
          where not (${isNow}) or w.requests < ${limit}
        returning 1)
      select exists (select 1 from counted) as is_counted, (${width} - now % ${width})::int4 as left_ms from clock`
  })
  const { is_counted, left_ms } = yield* Effect.orDie(count())
  if (!is_counted) {
    return yield* new RateLimited({ details: { retryAfterSeconds: Math.max(1, Math.ceil(left_ms / 1000)) } })
  }
})
