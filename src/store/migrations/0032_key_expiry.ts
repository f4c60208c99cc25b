/** API keys may end by themselves: from `expires_at` on (epoch milliseconds) a key is refused. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table api_keys add column expires_at bigint`
})
