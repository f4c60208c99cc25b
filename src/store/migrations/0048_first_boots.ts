/**
 * A Sandbox that was never up has no volume that anybody misses, so its promise may go to another host. `is_settled`: it was up, and its volume is on its
 * host for good. `refused_by`: hosts that had it and did not boot it; it never comes back to them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // Unknown for existing rows.
  yield* sql`
    alter table host_promises add column is_settled boolean not null default true, add column refused_by text[] not null default '{}'`
})
