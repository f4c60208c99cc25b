/** What a host has to know to join again under its id: the SHA-256 of the key in its data folder. Null: it has not joined with one yet. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table hosts add column key_digest bytea`
})
