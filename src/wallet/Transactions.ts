/** The entries of an account's ledger, newest first, each with its changes to grants. */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../store/Columns.ts"
import { type EntryKind, entryKinds } from "./Allocation.ts"

/** Times are epoch milliseconds. */
export interface Transaction {
  readonly id: string
  /** In the order of posting. */
  readonly number: bigint
  readonly at: number
  readonly postedAt: number
  readonly kind: EntryKind
  /** Signed, as in `grants`. */
  readonly microUsd: bigint
  /** The balance after this entry. */
  readonly balanceMicroUsd: bigint
  /** Of a snapshot's usage: the Sandbox of which it is. */
  readonly sandboxId: string | null
  readonly snapshotId: string | null
  readonly imageId: string | null
  readonly period: { readonly from: number; readonly to: number } | null
  readonly description: string
  /** The change of each grant's remaining credit. The rest of `microUsd`, if any, became or paid debt. */
  readonly grants: ReadonlyArray<{ readonly grantId: string; readonly microUsd: bigint }>
  readonly reversesId: string | null
}

const Row = Schema.Struct({
  id: Schema.String,
  number: Schema.BigInt,
  at: Int8,
  posted_at: Int8,
  kind: Schema.Literals(entryKinds),
  micro_usd: Schema.BigInt,
  balance_micro_usd: Schema.BigInt,
  sandbox_id: Schema.NullOr(Schema.String),
  snapshot_id: Schema.NullOr(Schema.String),
  image_id: Schema.NullOr(Schema.String),
  period_from: Schema.NullOr(Int8),
  period_to: Schema.NullOr(Int8),
  description: Schema.String,
  reverses_id: Schema.NullOr(Schema.String),
  grants: Schema.Array(Schema.Struct({ grantId: Schema.String, microUsd: Schema.BigIntFromString }))
})

const transactionOf = (row: typeof Row.Type): Transaction => ({
  id: row.id,
  number: row.number,
  at: row.at,
  postedAt: row.posted_at,
  kind: row.kind,
  microUsd: row.micro_usd,
  balanceMicroUsd: row.balance_micro_usd,
  sandboxId: row.sandbox_id,
  snapshotId: row.snapshot_id,
  imageId: row.image_id,
  period: row.period_from === null || row.period_to === null ? null : { from: row.period_from, to: row.period_to },
  description: row.description,
  grants: row.grants,
  reversesId: row.reverses_id
})

export class Transactions extends Context.Service<
  Transactions,
  {
    /** `before`: the number of the last entry of the previous page. */
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
      const find = SqlSchema.findAll({
        Request: Schema.Struct({ accountId: Schema.String, before: Schema.BigInt, limit: Int8 }),
        Result: Row,
        execute: ({ accountId, before, limit }) => sql`
          select e.id, e.number, e.at, e.posted_at, e.kind, e.micro_usd, e.balance_micro_usd,
                 case when m.snapshot_of is distinct from e.sandbox_id then nullif(coalesce(m.snapshot_of, e.sandbox_id), '') end as sandbox_id,
                 case when m.snapshot_of <> e.sandbox_id then e.sandbox_id end as snapshot_id,
                 case when m.snapshot_of = e.sandbox_id then e.sandbox_id end as image_id, e.period_from, e.period_to,
                 e.description, e.reverses_id, changed.grants
          from ledger_entries e left join meters m on m.sandbox_id = e.sandbox_id
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
          where e.account_id = ${accountId} and e.number < ${before}
          order by e.number desc limit ${limit}`
      })
      return {
        list: Effect.fn("Transactions.list")(function* (accountId, { limit, before }) {
          const rows = yield* find({ accountId, before: before ?? 9_223_372_036_854_775_807n, limit })
          return rows.map(transactionOf)
        }, Effect.orDie)
      }
    })
  )
}
