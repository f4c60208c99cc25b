/** Reads for a posting, under the account's lock: the wallet, the rate cards, the grants, and what they were spent on. */
import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "../store/Columns.ts"
import type { Spent, Wallet } from "./Allocation.ts"
import { AccountRow, accountOf, CardRow, cardOf, GrantRow, grantOf } from "./ledgerRows.ts"
import { grantCuts } from "./Posting.ts"

/** Key of the lock on the rates, unique in the database: "rates" in ASCII. Postings share the lock until their transaction ends. */
const ratesKey = "491260470643"

export const shareRates = (sql: SqlClient.SqlClient) => sql`select pg_advisory_xact_lock_shared(${ratesKey}::bigint)`

/** Exclusive, for a change of the rates: no posting is in progress. */
export const lockRates = (sql: SqlClient.SqlClient) => sql`select pg_advisory_xact_lock(${ratesKey}::bigint)`

const WalletRow = Schema.Struct({
  ...AccountRow.fields,
  balance_micro_usd: Schema.BigInt,
  debt_micro_usd: Schema.BigInt,
  entries: Schema.BigInt
})

/** Creates the wallet if it is missing, and locks it. Null: there is no such account. */
export const lockWallet = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string, now: number) {
  yield* sql`
    insert into wallets (account_id, balance_micro_usd, debt_micro_usd, entries, posted_at)
    select id, 0, 0, 0, ${BigInt(now)} from accounts where id = ${accountId}
    on conflict do nothing`
  const lock = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: WalletRow,
    execute: (id) => sql`
      select a.id, a.billing, a.suspended_at, a.exhausted_at, w.balance_micro_usd, w.debt_micro_usd, w.entries
      from wallets w join accounts a on a.id = w.account_id
      where w.account_id = ${id}
      for update of w`
  })
  const row = Option.getOrNull(yield* lock(accountId))
  if (row === null) return null
  const wallet: Wallet = {
    accountId,
    balanceMicroUsd: row.balance_micro_usd,
    debtMicroUsd: row.debt_micro_usd,
    entries: row.entries
  }
  return { wallet, account: accountOf(row) }
})

export const readCards = (sql: SqlClient.SqlClient) => {
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: CardRow,
    execute: () => sql`select * from rate_cards order by effective_at`
  })
  return Effect.map(find(), (rows) => rows.map(cardOf))
}

const findGrants = <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(SqlSchema.findAll({ Request: Schema.Void, Result: GrantRow, execute: () => rows })(), (found) =>
    found.map(grantOf)
  )

/** Grants with remaining credit, posted or not. */
export const readOpenGrants = (sql: SqlClient.SqlClient, accountId: string) =>
  findGrants(sql`select * from grants where account_id = ${accountId} and remaining_micro_usd > 0`)

/** Oldest first. */
export const readAllGrants = (sql: SqlClient.SqlClient, accountId: string) =>
  findGrants(sql`select * from grants where account_id = ${accountId} order by id`)

/** Instants after the given one at which segments must end, because credit began or ended then. Ascending. */
export const readGrantCuts = (sql: SqlClient.SqlClient, accountId: string, after: number) =>
  Effect.map(
    findGrants(sql`
      select * from grants where account_id = ${accountId} and (effective_at > ${BigInt(after)} or expires_at > ${BigInt(after)})`),
    grantCuts
  )

const readGrants = (sql: SqlClient.SqlClient, ids: ReadonlyArray<string>) =>
  findGrants(sql`select * from grants where id = any(${textColumn(ids)}::text[])`)

const SpentRow = Schema.Struct({ spent_by: Schema.String, grant_id: Schema.String, left: Schema.BigIntFromString })

const findSpent = <E>(rows: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(SqlSchema.findAll({ Request: Schema.Void, Result: SpentRow, execute: () => rows })(), (found) =>
    found.map((row): Spent => ({ spentBy: row.spent_by, grantId: row.grant_id, microUsd: row.left }))
  )

/**
 * The amounts that entries took and that were not returned, latest first, with their grants. If that is less than requested (a
 * later grant paid their debt), the amounts of all the account's entries.
 */
export const readSpent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string,
  needed: { readonly entryIds: ReadonlyArray<string>; readonly microUsd: bigint }
) {
  if (needed.entryIds.length === 0) return { spent: [], grants: [] }
  let spent = yield* findSpent(sql`
    select spent_by, grant_id, sum(micro_usd)::text as left from allocations
    where spent_by = any(${textColumn(needed.entryIds)}::text[])
    group by spent_by, grant_id having sum(micro_usd) > 0
    order by max(at) desc, spent_by, max(number) desc`)
  if (spent.reduce((sum, { microUsd }) => sum + microUsd, 0n) < needed.microUsd) {
    spent = yield* findSpent(sql`
      select a.spent_by, a.grant_id, sum(a.micro_usd)::text as left
      from ledger_entries e join allocations a on a.entry_id = e.id
      where e.account_id = ${accountId}
      group by a.spent_by, a.grant_id having sum(a.micro_usd) > 0
      order by max(e.number) desc, max(a.number) desc`)
  }
  return { spent, grants: yield* readGrants(sql, [...new Set(spent.map(({ grantId }) => grantId))]) }
})
