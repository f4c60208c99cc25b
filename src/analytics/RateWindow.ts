/**
 * A request limit of one account in fixed windows of a minute: counted in the database, so it is exact with any number of processes.
 *
 * @source contract.md "per-account analytics request limit"
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { RateLimited } from "../../schemas/Errors.ts"

const windowMs = 60_000

/** Counts one request, or fails with the seconds until the next window. */
export const countRequest = Effect.fnUntraced(function* (accountId: string, kind: string, limit: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const windowStart = now - (now % windowMs)
  const [counted] = yield* sql`
    insert into rate_windows as w (account_id, kind, window_start, requests)
    values (${accountId}, ${kind}, ${BigInt(windowStart)}, 1)
    on conflict (account_id, kind) do update
      set requests = case when w.window_start >= excluded.window_start then w.requests + 1 else 1 end,
          window_start = greatest(w.window_start, excluded.window_start)
      where w.window_start < excluded.window_start or w.requests < ${limit}
    returning 1`.pipe(Effect.orDie)
  if (counted === undefined) {
    const retryAfterSeconds = Math.max(1, Math.ceil((windowStart + windowMs - now) / 1000))
    return yield* new RateLimited({ details: { retryAfterSeconds } })
  }
})
