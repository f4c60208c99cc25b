/** Which data folder the Sandboxes of this database live in: its id, and where it was when it was last used. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table installation add column host_id text, add column host_label text`
})
