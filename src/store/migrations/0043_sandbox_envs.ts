/** The variables of Sandboxes' commands, sealed. A version never changes; a Sandbox's machine names the one that counts. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create table sandbox_envs (version text primary key, sandbox_id text not null, sealed bytea not null)`
  yield* sql`create index sandbox_envs_sandbox on sandbox_envs (sandbox_id)`
})
