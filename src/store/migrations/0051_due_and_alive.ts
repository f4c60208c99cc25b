/**
 * Separate indexes for due actors and for alive Sandboxes: with a million deadlines days away, no query reads their rows. The columns that
 * they go by are those of `actors_waiting` and `actors_sandbox_status`, so what was a HOT update stays one.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create index actors_due on actors ((case when pending <> '[]'::jsonb then 0 else due_at end))
    where pending <> '[]'::jsonb or due_at is not null`
  yield* sql`create index actors_alive on actors (id) where kind = 'sandbox' and sandbox_status in ('running', 'sleeping')`
})
