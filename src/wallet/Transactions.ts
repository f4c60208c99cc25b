/** The entries of an account's ledger, newest first, each with what it did to grants. */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { EntryKind } from "./Allocation.ts"

/** Times are epoch milliseconds. */
export interface Transaction {
  readonly id: string
  /** In the order in which they were posted. */
  readonly number: bigint
  readonly at: number
  readonly postedAt: number
  readonly kind: EntryKind
  /** Signed, as in `grants`. */
  readonly microUsd: bigint
  /** After it. */
  readonly balanceMicroUsd: bigint
  readonly sandboxId: string | null
  readonly period: { readonly from: number; readonly to: number } | null
  readonly description: string
  /** By how much it changed what is left of each. The rest of `microUsd`, if there is any, became or paid debt. */
  readonly grants: ReadonlyArray<{ readonly grantId: string; readonly microUsd: bigint }>
  readonly reversesId: string | null
}

interface Row {
  readonly id: string
  readonly number: bigint
  readonly at: bigint
  readonly posted_at: bigint
  readonly kind: EntryKind
  readonly micro_usd: bigint
  readonly balance_micro_usd: bigint
  readonly sandbox_id: string | null
  readonly period_from: bigint | null
  readonly period_to: bigint | null
  readonly description: string
  readonly grant_id: string | null
  readonly reverses_id: string | null
  readonly grants: ReadonlyArray<{ readonly grantId: string; readonly microUsd: string }>
}

const transactionOf = (row: Row): Transaction => ({
  id: row.id,
  number: row.number,
  at: Number(row.at),
  postedAt: Number(row.posted_at),
  kind: row.kind,
  microUsd: row.micro_usd,
  balanceMicroUsd: row.balance_micro_usd,
  sandboxId: row.sandbox_id,
  period:
    row.period_from === null || row.period_to === null
      ? null
      : { from: Number(row.period_from), to: Number(row.period_to) },
  description: row.description,
  grants: row.grants.map(({ grantId, microUsd }) => ({ grantId, microUsd: BigInt(microUsd) })),
  reversesId: row.reverses_id
})

export class Transactions extends Context.Service<
  Transactions,
  {
    /** `before`: the number of the last one of the page before. */
    readonly list: (
      accountId: string,
      page: { readonly limit: number; readonly before: bigint | null }
    ) => Effect.Effect<ReadonlyArray<Transaction>>
  }
>()("atoll/wallet/Transactions") {
  static readonly layer = Layer.effect(
    Transactions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return {
        list: Effect.fn("Transactions.list")(function* (accountId, { limit, before }) {
          const rows = yield* sql<Row>`
            select e.id, e.number, e.at, e.posted_at, e.kind, e.micro_usd, e.balance_micro_usd, e.sandbox_id, e.period_from, e.period_to,
                   e.description, e.grant_id, e.reverses_id, changed.grants
            from ledger_entries e
            cross join lateral (
              -- A grant's own entry, or its expiry, changes it too. Whole numbers as text: JSON's are not exact.
              select coalesce(json_agg(json_build_object('grantId', each.grant_id, 'microUsd', each.micro_usd::text) order by each.number)
                              filter (where each.micro_usd <> 0), '[]') as grants
              from (
                select c.grant_id, sum(c.micro_usd) as micro_usd, min(c.number) as number
                from (
                  select a.grant_id, -a.micro_usd as micro_usd, a.number from allocations a where a.entry_id = e.id
                  union all
                  select e.grant_id, e.micro_usd, -1 where e.grant_id is not null
                ) c group by c.grant_id
              ) each
            ) changed
            where e.account_id = ${accountId} and e.number < ${before ?? 9_223_372_036_854_775_807n}
            order by e.number desc limit ${BigInt(limit)}`
          return rows.map(transactionOf)
        }, Effect.orDie)
      }
    })
  )
}
