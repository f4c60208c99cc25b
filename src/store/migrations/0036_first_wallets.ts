/** Sandboxes that ran before there were wallets: their accounts' wallets are made, and what they cost is posted, as if something had just changed. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into wallet_nudges (account_id, at, token)
    select distinct account_id, 0, 'first' from actors where kind = 'sandbox' and sandbox_status <> 'deleted'
    on conflict do nothing`
})
