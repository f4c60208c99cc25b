/** Replays each account's entries and compares them with its grants and its wallet. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "../../store/Columns.ts"
import { eachBatch } from "../../store/eachBatch.ts"
import { GrantRow, grantOf } from "../ledgerRows.ts"
import { AccountReplay, type PostedEntry } from "./AccountReplay.ts"
import type { Differences } from "./Differences.ts"

const accountsAtOnce = 500
const entriesAtOnce = 5000

export interface AccountCounts {
  accounts: number
  entries: number
  grants: number
  /** Micro-USD of usage, less reversals. */
  used: bigint
}

interface AccountRow {
  readonly id: string
  readonly billing: string
  readonly exhausted_at: bigint | null
  readonly balance_micro_usd: bigint | null
  readonly debt_micro_usd: bigint | null
  readonly entries: bigint | null
  readonly posted_at: bigint | null
}

const OwnedGrantRow = Schema.Struct({ ...GrantRow.fields, account_id: Schema.String })

interface EntryRow {
  readonly account_id: string
  readonly id: string
  readonly number: bigint
  readonly at: bigint
  readonly kind: string
  readonly micro_usd: bigint
  readonly balance_micro_usd: bigint
  readonly sandbox_id: string | null
  readonly segment: number | null
  readonly period_to: bigint | null
  readonly grant_id: string | null
  /** Pairs of grant and amount, in order; null: none. */
  readonly allocations: string | null
}

const allocationsOf = (text: string | null): PostedEntry["allocations"] => {
  if (text === null) return []
  return text.split(",").map((one) => {
    const [grantId, amount] = one.split(" ")
    return { grantId: grantId!, microUsd: BigInt(amount!) }
  })
}

const entryOf = (row: EntryRow): PostedEntry => ({
  id: row.id,
  number: row.number,
  at: Number(row.at),
  kind: row.kind,
  microUsd: row.micro_usd,
  balanceMicroUsd: row.balance_micro_usd,
  sandboxId: row.sandbox_id,
  segment: row.segment,
  periodTo: row.period_to === null ? null : Number(row.period_to),
  grantId: row.grant_id,
  allocations: allocationsOf(row.allocations)
})

/** $1: an account, or null. */
const accountsStatement = `
  select a.id, a.billing, a.exhausted_at, w.balance_micro_usd, w.debt_micro_usd, w.entries, w.posted_at
  from accounts a left join wallets w on w.account_id = a.id
  where $1::text is null or a.id = $1`

const entriesStatement = `
  select e.account_id, e.id, e.number, e.at, e.kind, e.micro_usd, e.balance_micro_usd, e.sandbox_id, e.segment, e.period_to, e.grant_id,
         (select string_agg(a.grant_id || ' ' || a.micro_usd, ',' order by a.number) from allocations a where a.entry_id = e.id) as allocations
  from ledger_entries e where e.account_id = any($1::text[]) order by e.account_id, e.number`

/** @param accountId Null: all accounts. */
export const checkAccounts = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string | null,
  differences: Differences
) {
  const counts: AccountCounts = { accounts: 0, entries: 0, grants: 0, used: 0n }
  const findGrants = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: OwnedGrantRow,
    execute: (accountIds) => sql`select * from grants where account_id = any(${textColumn(accountIds)}::text[])`
  })
  const check = Effect.fnUntraced(function* (rows: ReadonlyArray<AccountRow>) {
    counts.accounts += rows.length
    const accountIds = rows.map(({ id }) => id)
    const found = yield* findGrants(accountIds)
    counts.grants += found.length
    const grants = Map.groupBy(found, (row) => row.account_id)
    const replays = new Map(
      rows.map(({ id }) => [id, new AccountReplay(id, (grants.get(id) ?? []).map(grantOf), differences)])
    )
    yield* eachBatch<EntryRow, never>(
      sql,
      "entries",
      entriesAtOnce,
      entriesStatement,
      [textColumn(accountIds)],
      (entries) =>
        Effect.sync(() => {
          counts.entries += entries.length
          for (const entry of entries) replays.get(entry.account_id)!.add(entryOf(entry))
        })
    )
    for (const row of rows) {
      const replay = replays.get(row.id)!
      counts.used += replay.used
      replay.end({
        balanceMicroUsd: row.balance_micro_usd ?? 0n,
        debtMicroUsd: row.debt_micro_usd ?? 0n,
        entries: row.entries ?? 0n,
        postedAt: Number(row.posted_at ?? 0n)
      })
    }
  })
  yield* eachBatch<AccountRow, Effect.Error<ReturnType<typeof check>>>(
    sql,
    "accounts_of_all",
    accountsAtOnce,
    accountsStatement,
    [accountId],
    check
  )
  return counts
})
