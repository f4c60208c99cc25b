/** The processes of a cluster that a process reaches, by their ids. Null: its version does not try. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table cluster_processes add column reached text[]`
})
