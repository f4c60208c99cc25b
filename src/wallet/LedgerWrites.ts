/** Stores a posting, inside its transaction: whole batches over `unnest`. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { boolColumn, int4Column, int8Column, textColumn } from "../store/Columns.ts"
import type { Allocation, Entry, Wallet } from "./Allocation.ts"
import { type Amounts, milliVcpus, type Sizes } from "./Cost.ts"
import type { Meter, Segment } from "./Fold.ts"
import type { Grant } from "./Grant.ts"
import type { Planned } from "./Plan.ts"

const instantColumn = (values: ReadonlyArray<number | null>) =>
  int8Column(values.map((value) => (value === null ? null : BigInt(value))))

/** Sums and rates are too large for int8. */
const wideColumns = (amounts: ReadonlyArray<Amounts>) => [
  textColumn(amounts.map(({ vcpu }) => String(vcpu))),
  textColumn(amounts.map(({ memory }) => String(memory))),
  textColumn(amounts.map(({ volume }) => String(volume)))
]

const sizeColumns = (all: ReadonlyArray<Sizes>) => [
  int4Column(all.map(({ vcpus }) => Number(milliVcpus(vcpus)))),
  int8Column(all.map(({ memoryBytes }) => BigInt(memoryBytes))),
  int8Column(all.map(({ volumeBytes }) => BigInt(volumeBytes)))
]

export interface MeterChange {
  readonly before: Meter
  readonly after: Meter
}

/** A meter that changed since it was read means two concurrent postings, which the wallet's lock excludes. */
const postedTwice = (ids: ReadonlyArray<string>) =>
  Effect.die(new Error(`Another posting has already charged these Sandboxes: ${ids.join(", ")}.`))

const insertMeters = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, meters: ReadonlyArray<Meter>) {
  const rows = yield* sql.unsafe(
    `insert into meters (sandbox_id, snapshot_of, account_id, workspace_id, name, milli_vcpus, memory_bytes, volume_bytes, revision, at, changed_at, run_since,
       is_running, has_volume, segments, vcpu_sum, memory_sum, volume_sum, closed_at)
     select i.id, i.snapshot_of, i.account_id, i.workspace_id, i.name, i.milli_vcpus, i.memory_bytes, i.volume_bytes, i.revision, i.at, i.changed_at, i.run_since,
       i.is_running, i.has_volume, i.segments, i.vcpu::numeric, i.memory::numeric, i.volume::numeric, i.closed_at
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int4[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[],
       $11::int8[], $12::bool[], $13::bool[], $14::int4[], $15::text[], $16::text[], $17::text[], $18::int8[],
       $19::text[])
       as i (id, account_id, workspace_id, name, milli_vcpus, memory_bytes, volume_bytes, revision, at, changed_at, run_since,
             is_running, has_volume, segments, vcpu, memory, volume, closed_at, snapshot_of)
     on conflict do nothing returning sandbox_id`,
    [
      textColumn(meters.map(({ sandboxId }) => sandboxId)),
      textColumn(meters.map(({ accountId }) => accountId)),
      textColumn(meters.map(({ workspaceId }) => workspaceId)),
      textColumn(meters.map(({ name }) => name)),
      ...sizeColumns(meters),
      instantColumn(meters.map(({ revision }) => revision)),
      instantColumn(meters.map(({ at }) => at)),
      instantColumn(meters.map(({ changedAt }) => changedAt)),
      instantColumn(meters.map(({ runSince }) => runSince)),
      boolColumn(meters.map(({ isRunning }) => isRunning)),
      boolColumn(meters.map(({ hasVolume }) => hasVolume)),
      int4Column(meters.map(({ segments }) => segments)),
      ...wideColumns(meters.map(({ sums }) => sums)),
      instantColumn(meters.map(({ closedAt }) => closedAt)),
      textColumn(meters.map(({ snapshotOf }) => snapshotOf))
    ]
  )
  if (rows.length < meters.length) yield* postedTwice(meters.map(({ sandboxId }) => sandboxId))
})

const updateMeters = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, changes: ReadonlyArray<MeterChange>) {
  const after = changes.map((change) => change.after)
  const rows = yield* sql.unsafe(
    `update meters m
     set revision = i.revision, at = i.at, changed_at = i.changed_at, run_since = i.run_since, is_running = i.is_running,
         has_volume = i.has_volume, segments = i.segments, vcpu_sum = i.vcpu::numeric, memory_sum = i.memory::numeric,
         volume_sum = i.volume::numeric, closed_at = i.closed_at, milli_vcpus = i.milli_vcpus, memory_bytes = i.memory_bytes,
         volume_bytes = i.volume_bytes
     from unnest($1::text[], $2::int8[], $3::int4[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::bool[], $9::bool[], $10::int4[],
       $11::text[], $12::text[], $13::text[], $14::int8[], $15::int4[], $16::int8[], $17::int8[])
       as i (id, expected_revision, expected_segments, revision, at, changed_at, run_since, is_running, has_volume, segments,
             vcpu, memory, volume, closed_at, milli_vcpus, memory_bytes, volume_bytes)
     where m.sandbox_id = i.id and m.revision = i.expected_revision and m.segments = i.expected_segments
     returning m.sandbox_id`,
    [
      textColumn(after.map(({ sandboxId }) => sandboxId)),
      instantColumn(changes.map(({ before }) => before.revision)),
      int4Column(changes.map(({ before }) => before.segments)),
      instantColumn(after.map(({ revision }) => revision)),
      instantColumn(after.map(({ at }) => at)),
      instantColumn(after.map(({ changedAt }) => changedAt)),
      instantColumn(after.map(({ runSince }) => runSince)),
      boolColumn(after.map(({ isRunning }) => isRunning)),
      boolColumn(after.map(({ hasVolume }) => hasVolume)),
      int4Column(after.map(({ segments }) => segments)),
      ...wideColumns(after.map(({ sums }) => sums)),
      instantColumn(after.map(({ closedAt }) => closedAt)),
      ...sizeColumns(after)
    ]
  )
  if (rows.length < changes.length) yield* postedTwice(after.map(({ sandboxId }) => sandboxId))
})

export const writeMeters = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, changes: ReadonlyArray<MeterChange>) {
  const isNew = ({ before }: MeterChange) => before.revision === 0
  const made = changes.filter(isNew).map(({ after }) => after)
  const changed = changes.filter((change) => !isNew(change))
  if (made.length > 0) yield* insertMeters(sql, made)
  if (changed.length > 0) yield* updateMeters(sql, changed)
})

export const writeSegments = (
  sql: SqlClient.SqlClient,
  accountId: string,
  segments: ReadonlyArray<Segment>,
  meterOf: (sandboxId: string) => Pick<Meter, "workspaceId" | "snapshotOf">
) =>
  segments.length === 0
    ? Effect.void
    : sql.unsafe(
        `insert into segments (sandbox_id, number, account_id, workspace_id, from_at, to_at, sign, takes_back, is_running, has_volume,
           vcpu_sum, memory_sum, volume_sum, vcpu_rate, memory_rate, volume_rate, vcpu_micro_usd, memory_micro_usd, volume_micro_usd,
           milli_vcpus, memory_bytes, volume_bytes, snapshot_of)
         select i.id, i.number, $2, i.workspace_id, i.from_at, i.to_at, i.sign, i.takes_back, i.is_running, i.has_volume,
           i.vcpu::numeric, i.memory::numeric, i.volume::numeric, i.vcpu_rate::numeric, i.memory_rate::numeric, i.volume_rate::numeric,
           i.vcpu_cost, i.memory_cost, i.volume_cost, i.milli_vcpus, i.memory_bytes, i.volume_bytes, i.snapshot_of
         from unnest($1::text[], $3::int4[], $4::text[], $5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::bool[], $10::bool[],
           $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::int8[], $18::int8[], $19::int8[],
           $20::int4[], $21::int8[], $22::int8[], $23::text[])
           as i (id, number, workspace_id, from_at, to_at, sign, takes_back, is_running, has_volume, vcpu, memory, volume,
                 vcpu_rate, memory_rate, volume_rate, vcpu_cost, memory_cost, volume_cost, milli_vcpus, memory_bytes, volume_bytes,
                 snapshot_of)`,
        [
          textColumn(segments.map(({ sandboxId }) => sandboxId)),
          accountId,
          int4Column(segments.map(({ number }) => number)),
          textColumn(segments.map(({ sandboxId }) => meterOf(sandboxId).workspaceId)),
          instantColumn(segments.map(({ from }) => from)),
          instantColumn(segments.map(({ to }) => to)),
          int4Column(segments.map(({ sign }) => sign)),
          int4Column(segments.map(({ takesBack }) => takesBack)),
          boolColumn(segments.map(({ isRunning }) => isRunning)),
          boolColumn(segments.map(({ hasVolume }) => hasVolume)),
          ...wideColumns(segments.map(({ sums }) => sums)),
          ...wideColumns(segments.map(({ rates }) => rates)),
          int8Column(segments.map(({ cost }) => cost.vcpu)),
          int8Column(segments.map(({ cost }) => cost.memory)),
          int8Column(segments.map(({ cost }) => cost.volume)),
          ...sizeColumns(segments),
          textColumn(segments.map(({ sandboxId }) => meterOf(sandboxId).snapshotOf))
        ]
      )

export const writeEntries = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string,
  postedAt: number,
  entries: ReadonlyArray<Entry>,
  allocations: ReadonlyArray<Allocation>
) {
  if (entries.length > 0) {
    yield* sql.unsafe(
      `insert into ledger_entries (id, account_id, number, at, posted_at, kind, micro_usd, balance_micro_usd, sandbox_id, segment,
         period_from, period_to, description, grant_id, reverses_id)
       select i.id, $2, i.number, i.at, $3, i.kind, i.micro_usd, i.balance, i.sandbox_id, i.segment, i.period_from, i.period_to,
         i.description, i.grant_id, i.reverses_id
       from unnest($1::text[], $4::int8[], $5::int8[], $6::text[], $7::int8[], $8::int8[], $9::text[], $10::int4[], $11::int8[], $12::int8[],
         $13::text[], $14::text[], $15::text[])
         as i (id, number, at, kind, micro_usd, balance, sandbox_id, segment, period_from, period_to, description, grant_id, reverses_id)`,
      [
        textColumn(entries.map(({ id }) => id)),
        accountId,
        BigInt(postedAt),
        int8Column(entries.map(({ number }) => number)),
        instantColumn(entries.map(({ at }) => at)),
        textColumn(entries.map(({ kind }) => kind)),
        int8Column(entries.map(({ microUsd }) => microUsd)),
        int8Column(entries.map(({ balanceMicroUsd }) => balanceMicroUsd)),
        textColumn(entries.map(({ sandboxId }) => sandboxId)),
        int4Column(entries.map(({ segment }) => segment)),
        instantColumn(entries.map(({ period }) => period?.from ?? null)),
        instantColumn(entries.map(({ period }) => period?.to ?? null)),
        textColumn(entries.map(({ description }) => description)),
        textColumn(entries.map(({ grantId }) => grantId)),
        textColumn(entries.map(({ reversesId }) => reversesId))
      ]
    )
  }
  if (allocations.length > 0) {
    yield* sql.unsafe(
      `insert into allocations (entry_id, number, account_id, grant_id, micro_usd, spent_by, at)
       select i.entry_id, i.number, $2, i.grant_id, i.micro_usd, i.spent_by, $3
       from unnest($1::text[], $4::int4[], $5::text[], $6::int8[], $7::text[]) as i (entry_id, number, grant_id, micro_usd, spent_by)`,
      [
        textColumn(allocations.map(({ entryId }) => entryId)),
        accountId,
        BigInt(postedAt),
        int4Column(allocations.map(({ number }) => number)),
        textColumn(allocations.map(({ grantId }) => grantId)),
        int8Column(allocations.map(({ microUsd }) => microUsd)),
        textColumn(allocations.map(({ spentBy }) => spentBy))
      ]
    )
  }
})

/** Inserts a new grant as it is. */
export const insertGrant = (sql: SqlClient.SqlClient, accountId: string, grant: Grant) => sql`
  insert into grants (id, account_id, kind, granted_micro_usd, remaining_micro_usd, expired_micro_usd, effective_at, expires_at, is_posted,
    description, created_at)
  values (${grant.id}, ${accountId}, ${grant.kind}, ${grant.grantedMicroUsd}, ${grant.remainingMicroUsd}, ${grant.expiredMicroUsd},
    ${BigInt(grant.effectiveAt)}, ${grant.expiresAt === null ? null : BigInt(grant.expiresAt)}, ${grant.isPosted}, ${grant.description},
    ${BigInt(grant.createdAt)})`

export const writeGrants = (sql: SqlClient.SqlClient, grants: ReadonlyArray<Grant>) =>
  grants.length === 0
    ? Effect.void
    : sql`
        update grants g set remaining_micro_usd = i.remaining, expired_micro_usd = i.expired, is_posted = i.is_posted
        from unnest(${textColumn(grants.map(({ id }) => id))}::text[],
                    ${int8Column(grants.map(({ remainingMicroUsd }) => remainingMicroUsd))}::int8[],
                    ${int8Column(grants.map(({ expiredMicroUsd }) => expiredMicroUsd))}::int8[],
                    ${boolColumn(grants.map(({ isPosted }) => isPosted))}::bool[]) as i (id, remaining, expired, is_posted)
        where g.id = i.id`

/** Stores the wallet after a posting, and the new plan. */
export const writeWallet = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  wallet: Wallet,
  postedAt: number,
  { exhaustedAt, lowAt, nextAt }: Planned
) {
  const instant = (value: number | null) => (value === null ? null : BigInt(value))
  yield* sql`
    update wallets set balance_micro_usd = ${wallet.balanceMicroUsd}, debt_micro_usd = ${wallet.debtMicroUsd}, entries = ${wallet.entries},
      posted_at = ${BigInt(postedAt)}, low_at = ${instant(lowAt)}, next_at = ${instant(nextAt)}
    where account_id = ${wallet.accountId}`
  yield* sql`
    update accounts set exhausted_at = ${instant(exhaustedAt)}
    where id = ${wallet.accountId} and exhausted_at is distinct from ${instant(exhaustedAt)}::int8`
})
