/**
 * Tells the running service that something about an account's money changed, in the transaction that changes it: a row that stays until
 * the account's wallet has heard of it, and a notification so that it hears at once.
 */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** The channel of the notifications; each carries the account's id. */
const nudgeChannel = "atoll_wallet"

export const nudgeWallet = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
  const at = BigInt(yield* Clock.currentTimeMillis)
  yield* sql`
    insert into wallet_nudges (account_id, at, token) values (${accountId}, ${at}, ${randomUUID()})
    on conflict (account_id) do update set at = excluded.at, token = excluded.token`
  yield* sql`select pg_notify(${nudgeChannel}, ${accountId})`
})
