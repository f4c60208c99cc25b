/** What the certificate of a host calls it, which is then no other host's. Null: nothing. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table hosts add column cert_name text`
})
