/** Boots that failed on a host, as all services count them together: the Sandboxes since one booted there, and whether it was told that none does. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table hosts add column boots_failed text[] not null default '{}', add column is_doubtful boolean not null default false`
})
