/** Ended operations by when they began: analytics of a window in the past read what began in it, and not all that ended since. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Both columns beside their difference: an index answers alone only with columns.
  yield* sql`
    create index actors_begun on actors (sandbox_id, (ended_at - duration_ms)) include (ended_at, duration_ms, generation)
    where kind = 'operation' and duration_ms is not null`
})
