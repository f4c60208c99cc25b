/** Checks that each segment with a cost has exactly one entry, and that the books have no orphans. Postgres returns only the differences. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import type { Differences } from "./Differences.ts"

const readMax = 100

const DifferenceRow = Schema.Struct({
  what: Schema.String,
  account_id: Schema.NullOr(Schema.String),
  id: Schema.NullOr(Schema.String),
  expected: Schema.NullOr(Schema.String),
  found: Schema.NullOr(Schema.String),
  /** The total number of these differences. */
  count: Schema.Int
})

/** $1: an account, or null. */
const statements = [
  `select case when e.id is null then 'entry of a segment' when s.sandbox_id is null then 'entry without a segment' else 'entry of a segment' end as what,
      coalesce(s.account_id, e.account_id) as account_id, coalesce(s.sandbox_id, e.sandbox_id) as id,
      'segment ' || s.number || ': ' || s.kind || ' of ' || s.micro_usd || ' from ' || s.from_at || ' to ' || s.to_at as expected,
      'segment ' || e.segment || ': ' || e.kind || ' of ' || e.micro_usd || ' from ' || e.period_from || ' to ' || e.period_to
        || case when e.times > 1 then ', ' || e.times || ' times' else '' end as found,
      count(*) over ()::int4 as count
    from (
      select *, - (vcpu_micro_usd + memory_micro_usd + volume_micro_usd) as micro_usd,
             case when sign = 1 then 'usage' else 'reversal' end as kind
      from segments where ($1::text is null or account_id = $1) and vcpu_micro_usd + memory_micro_usd + volume_micro_usd <> 0
    ) s full join (
      select *, count(*) over (partition by sandbox_id, segment) as times
      from ledger_entries where ($1::text is null or account_id = $1) and (sandbox_id is not null or kind in ('usage', 'reversal'))
    ) e on e.sandbox_id = s.sandbox_id and e.segment = s.number
    where (e.micro_usd = s.micro_usd and e.kind = s.kind and e.account_id = s.account_id and e.period_from = s.from_at
           and e.period_to = s.to_at and e.times = 1) is not true`,
  `select 'entry that a reversal takes back' as what, e.account_id, e.id, e.sandbox_id || ' segment ' || s.takes_back as expected,
      r.sandbox_id || ' segment ' || r.segment as found, count(*) over ()::int4 as count
    from ledger_entries e join segments s on s.sandbox_id = e.sandbox_id and s.number = e.segment
      left join ledger_entries r on r.id = e.reverses_id
    where e.kind = 'reversal' and ($1::text is null or e.account_id = $1)
      and (r.account_id = e.account_id and r.sandbox_id = e.sandbox_id and r.segment = s.takes_back) is not true`,
  `select 'segments without a meter' as what, s.account_id, s.sandbox_id as id, 'none' as expected, count(*)::text as found,
      count(*) over ()::int4 as count
    from segments s where ($1::text is null or s.account_id = $1) and not exists (select from meters m where m.sandbox_id = s.sandbox_id)
    group by s.account_id, s.sandbox_id`,
  `select 'what was given back of what an entry took' as what, min(account_id) as account_id, spent_by as id, 'no more than it took' as expected,
      sum(micro_usd) || ' of ' || grant_id as found, count(*) over ()::int4 as count
    from allocations where $1::text is null or account_id = $1 group by spent_by, grant_id having sum(micro_usd) < 0`,
  `select 'allocation without an entry' as what, a.account_id, a.entry_id as id, 'none' as expected, a.micro_usd || ' of ' || a.grant_id as found,
      count(*) over ()::int4 as count
    from allocations a where ($1::text is null or a.account_id = $1)
      and not exists (select from ledger_entries e where e.id = a.entry_id and e.account_id = a.account_id)`,
  `select 'money of no account' as what, w.account_id, null as id, 'an account' as expected, 'none' as found, count(*) over ()::int4 as count
    from (select account_id from wallets union select account_id from ledger_entries union select account_id from grants
          union select account_id from meters) w
    where ($1::text is null or w.account_id = $1) and not exists (select from accounts a where a.id = w.account_id)`
]

/** @param accountId Null: all accounts. */
export const checkPostings = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string | null,
  differences: Differences
) {
  for (const statement of statements) {
    const find = SqlSchema.findAll({
      Request: Schema.NullOr(Schema.String),
      Result: DifferenceRow,
      execute: (account) => sql.unsafe(`${statement} limit ${readMax}`, [account])
    })
    const rows = yield* find(accountId)
    for (const { what, account_id, id, expected, found } of rows) differences.add(what, account_id, id, expected, found)
    differences.countMore((rows[0]?.count ?? 0) - rows.length)
  }
})
