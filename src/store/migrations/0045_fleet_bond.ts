/** Whose the Sandboxes are: of hosts that join services, and not of the data folder of an Atoll that does all. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The step before had it, while it was being made.
  yield* sql`alter table installation add column if not exists is_fleet boolean not null default false`
})
