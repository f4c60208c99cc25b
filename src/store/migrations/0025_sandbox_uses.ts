/** When a Sandbox was last used by any of several processes; written only where Sandboxes sleep, a few times in the time after which they do. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create table sandbox_uses (sandbox_id text primary key, used_at bigint not null)`
})
