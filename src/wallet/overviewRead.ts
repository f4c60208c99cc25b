/** Reads an account's money for a balance, in one statement. */
import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../store/Columns.ts"
import { divisors, storageRateOf } from "./Cost.ts"
import type { Grant } from "./Grant.ts"
import { type Account, AccountRow, accountOf, CardInJson, cardOf, GrantInJson, grantOf } from "./ledgerRows.ts"
import type { Load } from "./Plan.ts"
import type { RateCard } from "./RateCard.ts"

const LoadRow = Schema.Struct({
  /** The requested instant. */
  at: Int8,
  /** The instant of the meter that is furthest behind. */
  since: Schema.NullOr(Int8),
  grown: Schema.BigIntFromString,
  vcpu_rest: Schema.BigIntFromString,
  memory_rest: Schema.BigIntFromString,
  volume_rest: Schema.BigIntFromString,
  milli_vcpus: Schema.BigIntFromString,
  memory_bytes: Schema.BigIntFromString,
  volume_bytes: Schema.BigIntFromString,
  snapshot_bytes: Schema.BigIntFromString,
  running: Schema.Int,
  volumes: Schema.Int
})

/** $1: the account; $2: the instant. Same result as `loadOf`, if all meters are under the card in force at that instant, or ahead of it. */
const loadStatement = `
  open as materialized (
    select at, snapshot_of, is_running, has_volume, milli_vcpus, memory_bytes, volume_bytes, vcpu_sum, memory_sum, volume_sum
    from meters where account_id = $1 and closed_at is null
  ), instant as (select $2::int8 as at, min(at) as since from open
  ), card as (select c.* from rate_cards c where c.effective_at <= (select at from instant) order by c.effective_at desc limit 1
  ), waited as (select o.*, greatest(i.at - o.at, 0) as ms from open o cross join instant i
  ), sums as (
    select
      case when o.is_running then mod(o.vcpu_sum, ${divisors.vcpu}) + o.milli_vcpus * c.vcpu_second_nano_usd::numeric * o.ms end as vcpu,
      case when o.is_running then mod(o.memory_sum, ${divisors.memory}) + o.memory_bytes * c.memory_gib_second_nano_usd::numeric * o.ms end as memory,
      case when o.has_volume then mod(o.volume_sum, ${divisors.volume}) + o.volume_bytes * ${storageRateOf("o", "c")} * o.ms end as volume,
      o.snapshot_of, o.milli_vcpus, o.memory_bytes, o.volume_bytes, o.is_running, o.has_volume
    from waited o cross join card c
  ), load as (
    select coalesce(sum(coalesce(div(vcpu, ${divisors.vcpu}), 0) + coalesce(div(memory, ${divisors.memory}), 0)
                        + coalesce(div(volume, ${divisors.volume}), 0)), 0)::text as grown,
           coalesce(sum(mod(vcpu, ${divisors.vcpu})), 0)::text as vcpu_rest,
           coalesce(sum(mod(memory, ${divisors.memory})), 0)::text as memory_rest,
           coalesce(sum(mod(volume, ${divisors.volume})), 0)::text as volume_rest,
           coalesce(sum(milli_vcpus) filter (where is_running), 0)::text as milli_vcpus,
           coalesce(sum(memory_bytes) filter (where is_running), 0)::text as memory_bytes,
           coalesce(sum(volume_bytes) filter (where has_volume and snapshot_of is null), 0)::text as volume_bytes,
           coalesce(sum(volume_bytes) filter (where has_volume and snapshot_of is not null), 0)::text as snapshot_bytes,
           count(*) filter (where is_running)::int4 as running,
           count(*) filter (where has_volume)::int4 as volumes
    from sums
  )`

const loadOf = (row: typeof LoadRow.Type): Load => ({
  grownMicroUsd: row.grown,
  rests: { vcpu: row.vcpu_rest, memory: row.memory_rest, volume: row.volume_rest },
  sizes: { vcpu: row.milli_vcpus, memory: row.memory_bytes, volume: row.volume_bytes, snapshot: row.snapshot_bytes },
  terms: 2 * row.running + row.volumes,
  each: null
})

export interface LoadRead {
  readonly at: number
  readonly since: number | null
  readonly load: Load
}

const loadReadOf = (row: typeof LoadRow.Type): LoadRead => ({ at: row.at, since: row.since, load: loadOf(row) })

/** The sums of all open meters of an account. */
export const readLoad = (sql: SqlClient.SqlClient, accountId: string, at: number) => {
  const find = SqlSchema.findOne({
    Request: Schema.Tuple([Schema.String, Int8]),
    Result: LoadRow,
    execute: (given) => sql.unsafe(`with ${loadStatement} select instant.*, load.* from instant cross join load`, given)
  })
  return Effect.map(find([accountId, at]), loadReadOf)
}

export interface Overview extends LoadRead {
  readonly account: Account
  /** Null: nothing was posted or planned yet. */
  readonly wallet: {
    readonly balanceMicroUsd: bigint
    readonly lowAt: number | null
    readonly nextAt: number | null
  } | null
  readonly cards: ReadonlyArray<RateCard>
  /** Oldest first. */
  readonly grants: ReadonlyArray<Grant>
}

const OverviewRow = Schema.Struct({
  ...AccountRow.fields,
  ...LoadRow.fields,
  balance_micro_usd: Schema.NullOr(Schema.BigInt),
  low_at: Schema.NullOr(Int8),
  next_at: Schema.NullOr(Int8),
  cards: Schema.Array(CardInJson),
  grants: Schema.Array(GrantInJson)
})

/** Integers are text, because JSON numbers are not exact. */
const overviewStatement = `
  with ${loadStatement}
  select a.id, a.billing, a.suspended_at, a.exhausted_at, w.balance_micro_usd, w.low_at, w.next_at, instant.*, load.*,
    (select coalesce(json_agg(json_build_object('effective_at', effective_at::text, 'vcpu_second_nano_usd', vcpu_second_nano_usd::text,
       'memory_gib_second_nano_usd', memory_gib_second_nano_usd::text, 'volume_gib_second_nano_usd', volume_gib_second_nano_usd::text,
       'snapshot_gib_second_nano_usd', snapshot_gib_second_nano_usd::text,
       'created_at', created_at::text) order by effective_at), '[]') from rate_cards) as cards,
    (select coalesce(json_agg(json_build_object('id', id, 'kind', kind, 'granted_micro_usd', granted_micro_usd::text,
       'remaining_micro_usd', remaining_micro_usd::text, 'expired_micro_usd', expired_micro_usd::text, 'effective_at', effective_at::text,
       'expires_at', expires_at::text, 'is_posted', is_posted, 'description', description, 'created_at', created_at::text) order by id), '[]')
     from grants g where g.account_id = $1 and ($3 or g.remaining_micro_usd > 0)) as grants
  from accounts a left join wallets w on w.account_id = a.id cross join instant cross join load
  where a.id = $1`

const overviewOf = (row: typeof OverviewRow.Type): Overview => ({
  ...loadReadOf(row),
  account: accountOf(row),
  wallet:
    row.balance_micro_usd === null
      ? null
      : { balanceMicroUsd: row.balance_micro_usd, lowAt: row.low_at, nextAt: row.next_at },
  cards: row.cards.map(cardOf),
  grants: row.grants.map(grantOf)
})

/** An account's money, read in one snapshot. Null: there is no such account. */
export const readOverview = (sql: SqlClient.SqlClient, accountId: string, at: number, withUsedGrants: boolean) => {
  const find = SqlSchema.findOneOption({
    Request: Schema.Tuple([Schema.String, Int8, Schema.Boolean]),
    Result: OverviewRow,
    execute: (given) => sql.unsafe(overviewStatement, given)
  })
  return Effect.map(find([accountId, at, withUsedGrants]), (row) => Option.getOrNull(Option.map(row, overviewOf)))
}
