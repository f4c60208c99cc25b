/**
 * Outbox for changes to an account's money, written in the transaction of the change: a row that stays until
 * the account's wallet has taken it, and a NOTIFY so that the running service reads it immediately.
 */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { textColumn } from "../store/Columns.ts"

/** The channel of the notifications, whose payload is the account's id. */
export const walletChannel = "atoll_wallet"

export const notifyWallets = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountIds: ReadonlyArray<string>) {
  if (accountIds.length === 0) return
  const at = BigInt(yield* Clock.currentTimeMillis)
  const ids = textColumn(accountIds.toSorted())
  yield* sql`
    insert into wallet_nudges (account_id, at, token)
    select id, ${at}, ${randomUUID()} from unnest(${ids}::text[]) as i (id)
    on conflict (account_id) do update set at = excluded.at, token = excluded.token`
  yield* sql`select pg_notify(${walletChannel}, id) from unnest(${ids}::text[]) as i (id)`
})

export const notifyWallet = (sql: SqlClient.SqlClient, accountId: string) => notifyWallets(sql, [accountId])
