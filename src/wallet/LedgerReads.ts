/** Reads for a posting, under the account's lock, and for a balance, in one statement. */
import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { Int8, Int8FromText, int8Column, textColumn } from "../store/Columns.ts"
import type { Spent, Wallet } from "./Allocation.ts"
import { countedStates } from "./billedStates.ts"
import { divisors } from "./Cost.ts"
import { type FoldedTransition, type Meter, newMeter, type Segment, standing } from "./Fold.ts"
import { type Grant, grantKinds } from "./Grant.ts"
import type { Load } from "./Plan.ts"
import { grantCuts } from "./Posting.ts"
import type { RateCard } from "./RateCard.ts"

export interface Account {
  readonly accountId: string
  readonly billing: "unlimited" | "prepaid"
  readonly suspendedAt: number | null
  readonly exhaustedAt: number | null
}

const AccountRow = Schema.Struct({
  id: Schema.String,
  billing: Schema.Literals(["unlimited", "prepaid"]),
  suspended_at: Schema.NullOr(Int8),
  exhausted_at: Schema.NullOr(Int8)
})

const accountOf = (row: typeof AccountRow.Type): Account => ({
  accountId: row.id,
  billing: row.billing,
  suspendedAt: row.suspended_at,
  exhaustedAt: row.exhausted_at
})

const cardRow = <Amount extends Schema.Top, Instant extends Schema.Top>(amount: Amount, instant: Instant) =>
  Schema.Struct({
    effective_at: instant,
    vcpu_second_nano_usd: amount,
    memory_gib_second_nano_usd: amount,
    volume_gib_second_nano_usd: amount,
    created_at: instant
  })

const CardRow = cardRow(Schema.BigInt, Int8)
const CardInJson = cardRow(Schema.BigIntFromString, Int8FromText)

const cardOf = (row: typeof CardRow.Type): RateCard => ({
  effectiveAt: row.effective_at,
  vcpuSecondNanoUsd: row.vcpu_second_nano_usd,
  memoryGibSecondNanoUsd: row.memory_gib_second_nano_usd,
  volumeGibSecondNanoUsd: row.volume_gib_second_nano_usd,
  createdAt: row.created_at
})

const grantRow = <Amount extends Schema.Top, Instant extends Schema.Top>(amount: Amount, instant: Instant) =>
  Schema.Struct({
    id: Schema.String,
    kind: Schema.Literals(grantKinds),
    granted_micro_usd: amount,
    remaining_micro_usd: amount,
    expired_micro_usd: amount,
    effective_at: instant,
    expires_at: Schema.NullOr(instant),
    is_posted: Schema.Boolean,
    description: Schema.String,
    created_at: instant
  })

const GrantRow = grantRow(Schema.BigInt, Int8)
const GrantInJson = grantRow(Schema.BigIntFromString, Int8FromText)

const grantOf = (row: typeof GrantRow.Type): Grant => ({
  id: row.id,
  kind: row.kind,
  grantedMicroUsd: row.granted_micro_usd,
  remainingMicroUsd: row.remaining_micro_usd,
  expiredMicroUsd: row.expired_micro_usd,
  effectiveAt: row.effective_at,
  expiresAt: row.expires_at,
  isPosted: row.is_posted,
  description: row.description,
  createdAt: row.created_at
})

/** No schema checks it: a posting reads each open meter under the account's lock, and a thousand checks would take 5 ms. */
interface MeterRow {
  readonly sandbox_id: string
  readonly account_id: string
  readonly workspace_id: string
  readonly name: string | null
  readonly vcpus: number
  readonly memory_bytes: bigint
  readonly volume_bytes: bigint
  readonly revision: bigint
  readonly at: bigint
  readonly changed_at: bigint
  readonly run_since: bigint | null
  readonly is_running: boolean
  readonly has_volume: boolean
  readonly segments: number
  readonly vcpu_sum: string
  readonly memory_sum: string
  readonly volume_sum: string
  readonly closed_at: bigint | null
}

const instantOf = (value: bigint | null): number | null => (value === null ? null : Number(value))

const meterOf = (row: MeterRow): Meter => ({
  sandboxId: row.sandbox_id,
  accountId: row.account_id,
  workspaceId: row.workspace_id,
  name: row.name,
  vcpus: row.vcpus,
  memoryBytes: Number(row.memory_bytes),
  volumeBytes: Number(row.volume_bytes),
  revision: Number(row.revision),
  at: Number(row.at),
  changedAt: Number(row.changed_at),
  runSince: instantOf(row.run_since),
  isRunning: row.is_running,
  hasVolume: row.has_volume,
  segments: row.segments,
  sums: { vcpu: BigInt(row.vcpu_sum), memory: BigInt(row.memory_sum), volume: BigInt(row.volume_sum) },
  closedAt: instantOf(row.closed_at)
})

const meterColumns = `sandbox_id, account_id, workspace_id, name, vcpus, memory_bytes, volume_bytes, revision, at, changed_at, run_since,
  is_running, has_volume, segments, vcpu_sum::text, memory_sum::text, volume_sum::text, closed_at`

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

export const readOpenMeters = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(
    sql.unsafe<MeterRow>(`select ${meterColumns} from meters where account_id = $1 and closed_at is null`, [accountId]),
    (rows) => rows.map(meterOf)
  )

/**
 * Sandboxes of an account with log entries that were not folded yet. Sandboxes without a meter that never ran are included in vain, except
 * deleted ones, which are too many: they are included only while their last fold is due.
 */
export const readUnfolded = (sql: SqlClient.SqlClient, accountId: string) => {
  const find = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ id: Schema.String }),
    execute: (account) => sql`
      select a.id from meters m join actors a on a.id = m.sandbox_id
      where m.account_id = ${account} and m.closed_at is null and a.revision > m.revision
      union all
      select a.id from actors a
      where a.account_id = ${account} and a.kind = 'sandbox' and a.sandbox_status = any(${textColumn(countedStates)}::text[])
        and not exists (select 1 from meters m where m.sandbox_id = a.id)`
  })
  return Effect.map(find(accountId), (rows) => rows.map(({ id }) => id))
}

/** A Sandbox's input; its numbers are text. */
const InputRow = Schema.Struct({
  id: Schema.String,
  account_id: Schema.String,
  workspace_id: Schema.String,
  name: Schema.NullOr(Schema.String),
  vcpus: Int8FromText,
  memory_bytes: Int8FromText,
  volume_bytes: Int8FromText
})

/** The meters of these Sandboxes; new ones where none is stored. */
export const readMeters = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, sandboxIds: ReadonlyArray<string>) {
  const known = yield* sql.unsafe<MeterRow>(`select ${meterColumns} from meters where sandbox_id = any($1::text[])`, [
    textColumn(sandboxIds)
  ])
  const meters = new Map(known.map((row) => [row.sandbox_id, meterOf(row)]))
  const others = sandboxIds.filter((id) => !meters.has(id))
  if (others.length === 0) return meters
  const findInputs = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: InputRow,
    execute: (ids) => sql`
      select id, account_id, workspace_id, input ->> 'name' as name, input -> 'profile' ->> 'vcpus' as vcpus,
             input -> 'profile' ->> 'memoryBytes' as memory_bytes, input -> 'profile' ->> 'diskBytes' as volume_bytes
      from actors where id = any(${textColumn(ids)}::text[]) and kind = 'sandbox'`
  })
  for (const row of yield* findInputs(others)) {
    meters.set(
      row.id,
      newMeter({
        sandboxId: row.id,
        accountId: row.account_id,
        workspaceId: row.workspace_id,
        name: row.name,
        vcpus: row.vcpus,
        memoryBytes: row.memory_bytes,
        volumeBytes: row.volume_bytes
      })
    )
  }
  return meters
})

const TransitionRow = Schema.Struct({
  actor_id: Schema.String,
  revision: Int8,
  at: Int8,
  from_state: Schema.NullOr(Schema.String),
  to_state: Schema.String,
  seen_at: Schema.NullOr(Schema.FiniteFromString)
})

/** Log entries after each meter, by Sandbox. */
export const readTransitions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, meters: ReadonlyArray<Meter>) {
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: TransitionRow,
    execute: () => sql`
      select t.actor_id, t.revision, t.at, t.from_state, t.to_state,
             case when jsonb_typeof(t.event -> 'seenAt') = 'number' then t.event ->> 'seenAt' end as seen_at
      from unnest(${textColumn(meters.map(({ sandboxId }) => sandboxId))}::text[],
                  ${int8Column(meters.map(({ revision }) => BigInt(revision)))}::int8[]) as m (id, revision)
      join transitions t on t.actor_id = m.id and t.revision > m.revision
      order by t.actor_id, t.revision`
  })
  const logs = new Map<string, Array<FoldedTransition>>()
  for (const row of yield* find()) {
    const log = logs.get(row.actor_id) ?? []
    log.push({ revision: row.revision, at: row.at, from: row.from_state, to: row.to_state, seenAt: row.seen_at })
    logs.set(row.actor_id, log)
  }
  return logs
})

const SegmentRow = Schema.Struct({
  sandbox_id: Schema.String,
  number: Schema.Int,
  from_at: Int8,
  to_at: Int8,
  sign: Schema.Literals([1, -1]),
  takes_back: Schema.NullOr(Schema.Int),
  is_running: Schema.Boolean,
  has_volume: Schema.Boolean,
  vcpu_sum: Schema.BigIntFromString,
  memory_sum: Schema.BigIntFromString,
  volume_sum: Schema.BigIntFromString,
  vcpu_rate: Schema.BigIntFromString,
  memory_rate: Schema.BigIntFromString,
  volume_rate: Schema.BigIntFromString,
  vcpu_micro_usd: Schema.BigInt,
  memory_micro_usd: Schema.BigInt,
  volume_micro_usd: Schema.BigInt
})

const segmentOf = (row: typeof SegmentRow.Type): Segment => ({
  sandboxId: row.sandbox_id,
  number: row.number,
  from: row.from_at,
  to: row.to_at,
  sign: row.sign,
  takesBack: row.takes_back,
  isRunning: row.is_running,
  hasVolume: row.has_volume,
  sums: { vcpu: row.vcpu_sum, memory: row.memory_sum, volume: row.volume_sum },
  rates: { vcpu: row.vcpu_rate, memory: row.memory_rate, volume: row.volume_rate },
  cost: { vcpu: row.vcpu_micro_usd, memory: row.memory_micro_usd, volume: row.volume_micro_usd }
})

/** The remaining segments of each Sandbox after an instant. */
export const readTails = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  after: ReadonlyArray<{ readonly sandboxId: string; readonly at: number }>
) {
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: SegmentRow,
    execute: () => sql`
      select s.sandbox_id, s.number, s.from_at, s.to_at, s.sign, s.takes_back, s.is_running, s.has_volume,
             s.vcpu_sum::text, s.memory_sum::text, s.volume_sum::text,
             s.vcpu_rate::text, s.memory_rate::text, s.volume_rate::text,
             s.vcpu_micro_usd, s.memory_micro_usd, s.volume_micro_usd
      from unnest(${textColumn(after.map(({ sandboxId }) => sandboxId))}::text[],
                  ${int8Column(after.map(({ at }) => BigInt(at)))}::int8[]) as a (id, at)
      join segments s on s.sandbox_id = a.id and s.to_at > a.at
      order by s.sandbox_id, s.number`
  })
  const segments = Map.groupBy((yield* find()).map(segmentOf), ({ sandboxId }) => sandboxId)
  return new Map([...segments].map(([sandboxId, all]) => [sandboxId, standing(all)]))
})

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

const LoadRow = Schema.Struct({
  /** The requested instant. */
  at: Int8,
  /** The instant of the meter that is furthest behind. */
  since: Schema.NullOr(Int8),
  grown: Schema.BigIntFromString,
  vcpu_rest: Schema.BigIntFromString,
  memory_rest: Schema.BigIntFromString,
  volume_rest: Schema.BigIntFromString,
  vcpus: Schema.BigIntFromString,
  memory_bytes: Schema.BigIntFromString,
  volume_bytes: Schema.BigIntFromString,
  running: Schema.Int,
  volumes: Schema.Int
})

/** $1: the account; $2: the instant. Same result as `loadOf`, if all meters are under the card in force at that instant, or ahead of it. */
const loadStatement = `
  open as materialized (
    select at, is_running, has_volume, vcpus, memory_bytes, volume_bytes, vcpu_sum, memory_sum, volume_sum
    from meters where account_id = $1 and closed_at is null
  ), instant as (select $2::int8 as at, min(at) as since from open
  ), card as (select c.* from rate_cards c where c.effective_at <= (select at from instant) order by c.effective_at desc limit 1
  ), waited as (select o.*, greatest(i.at - o.at, 0) as ms from open o cross join instant i
  ), sums as (
    select
      case when o.is_running then mod(o.vcpu_sum, ${divisors.vcpu}) + o.vcpus * c.vcpu_second_nano_usd::numeric * o.ms end as vcpu,
      case when o.is_running then mod(o.memory_sum, ${divisors.memory}) + o.memory_bytes * c.memory_gib_second_nano_usd::numeric * o.ms end as memory,
      case when o.has_volume then mod(o.volume_sum, ${divisors.volume}) + o.volume_bytes * c.volume_gib_second_nano_usd::numeric * o.ms end as volume,
      o.vcpus, o.memory_bytes, o.volume_bytes, o.is_running, o.has_volume
    from waited o cross join card c
  ), load as (
    select coalesce(sum(coalesce(div(vcpu, ${divisors.vcpu}), 0) + coalesce(div(memory, ${divisors.memory}), 0)
                        + coalesce(div(volume, ${divisors.volume}), 0)), 0)::text as grown,
           coalesce(sum(mod(vcpu, ${divisors.vcpu})), 0)::text as vcpu_rest,
           coalesce(sum(mod(memory, ${divisors.memory})), 0)::text as memory_rest,
           coalesce(sum(mod(volume, ${divisors.volume})), 0)::text as volume_rest,
           coalesce(sum(vcpus) filter (where is_running), 0)::text as vcpus,
           coalesce(sum(memory_bytes) filter (where is_running), 0)::text as memory_bytes,
           coalesce(sum(volume_bytes) filter (where has_volume), 0)::text as volume_bytes,
           count(*) filter (where is_running)::int4 as running,
           count(*) filter (where has_volume)::int4 as volumes
    from sums
  )`

const loadOf = (row: typeof LoadRow.Type): Load => ({
  grownMicroUsd: row.grown,
  rests: { vcpu: row.vcpu_rest, memory: row.memory_rest, volume: row.volume_rest },
  sizes: { vcpu: row.vcpus, memory: row.memory_bytes, volume: row.volume_bytes },
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
