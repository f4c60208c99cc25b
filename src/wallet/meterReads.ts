/** Reads what a posting folds: meters, the log entries after them, and the segments that they made. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { Int8, Int8FromText, int8Column, textColumn } from "../store/Columns.ts"
import { countedStates, storedStates } from "./billedStates.ts"
import type { Sizes } from "./Cost.ts"
import { type FoldedTransition, type Meter, newMeter, type Segment, standing } from "./Fold.ts"

/** No schema checks it: a posting reads each open meter under the account's lock, and a thousand checks would take 5 ms. */
interface MeterRow {
  readonly sandbox_id: string
  readonly snapshot_of: string | null
  readonly account_id: string
  readonly workspace_id: string
  readonly name: string | null
  readonly milli_vcpus: number
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
  snapshotOf: row.snapshot_of,
  accountId: row.account_id,
  workspaceId: row.workspace_id,
  name: row.name,
  vcpus: row.milli_vcpus / 1000,
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

const meterColumns = `sandbox_id, snapshot_of, account_id, workspace_id, name, milli_vcpus, memory_bytes, volume_bytes, revision, at, changed_at, run_since,
  is_running, has_volume, segments, vcpu_sum::text, memory_sum::text, volume_sum::text, closed_at`

export const readOpenMeters = (sql: SqlClient.SqlClient, accountId: string) =>
  Effect.map(
    sql.unsafe<MeterRow>(`select ${meterColumns} from meters where account_id = $1 and closed_at is null`, [accountId]),
    (rows) => rows.map(meterOf)
  )

/**
 * Sandboxes and snapshots of an account with log entries that were not folded yet. Sandboxes without a meter that never ran are included in vain, except
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
        and not exists (select 1 from meters m where m.sandbox_id = a.id)
      union all
      select a.id from actors a
      where a.account_id = ${account} and a.kind in ('snapshot', 'image') and a.ended_at is null and a.status = any(${textColumn(storedStates)}::text[])
        and not exists (select 1 from meters m where m.sandbox_id = a.id)`
  })
  return Effect.map(find(accountId), (rows) => rows.map(({ id }) => id))
}

/** Kinds of actors that cost, as a list in SQL. */
export const meteredKinds = "('sandbox', 'snapshot', 'image')"

/** Images belong to no workspace. In reports by workspace they are under this key. */
export const imagesWorkspace = "images"

/** The Sandbox of a snapshot; an image stands for itself. Null: it is a Sandbox. */
const storedOf = (actor: string): string => `case when ${actor}.kind <> 'sandbox' then ${actor}.sandbox_id end`

const workspaceOf = (actor: string): string =>
  `case when ${actor}.kind = 'image' then '${imagesWorkspace}' else ${actor}.workspace_id end`

/** A Sandbox's input, or a snapshot's; its numbers are text. */
const InputRow = Schema.Struct({
  id: Schema.String,
  snapshot_of: Schema.NullOr(Schema.String),
  account_id: Schema.String,
  workspace_id: Schema.String,
  name: Schema.NullOr(Schema.String),
  vcpus: Schema.FiniteFromString,
  memory_bytes: Int8FromText,
  volume_bytes: Int8FromText
})

/** The meters of these Sandboxes and snapshots; new ones where none is stored. */
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
      select id, account_id, ${sql.literal(workspaceOf("actors"))} as workspace_id, input ->> 'name' as name, coalesce(input -> 'profile' ->> 'vcpus', '0') as vcpus,
             coalesce(input -> 'profile' ->> 'memoryBytes', '0') as memory_bytes,
             coalesce(input -> 'profile' ->> 'diskBytes', '0') as volume_bytes,
             ${sql.literal(storedOf("actors"))} as snapshot_of
      from actors where id = any(${textColumn(ids)}::text[]) and kind in ${sql.literal(meteredKinds)}`
  })
  for (const row of yield* findInputs(others)) {
    meters.set(
      row.id,
      newMeter({
        sandboxId: row.id,
        accountId: row.account_id,
        workspaceId: row.workspace_id,
        name: row.name,
        snapshotOf: row.snapshot_of,
        ...(row.snapshot_of === null
          ? { vcpus: row.vcpus, memoryBytes: row.memory_bytes, volumeBytes: row.volume_bytes }
          : stored(0))
      })
    )
  }
  return meters
})

/** The sizes of a snapshot. */
const stored = (bytes: number): Sizes => ({ vcpus: 0, memoryBytes: 0, volumeBytes: Math.max(Math.floor(bytes), 0) })

const ProfileInLog = Schema.Struct({ vcpus: Schema.Finite, memoryBytes: Schema.Int, diskBytes: Schema.Int })

const sizesInLog = ({ vcpus, memoryBytes, diskBytes }: typeof ProfileInLog.Type): Sizes => ({
  vcpus,
  memoryBytes,
  volumeBytes: diskBytes
})

const TransitionRow = Schema.Struct({
  actor_id: Schema.String,
  revision: Int8,
  at: Int8,
  from_state: Schema.NullOr(Schema.String),
  to_state: Schema.String,
  seen_at: Schema.NullOr(Schema.FiniteFromString),
  profile: Schema.NullOr(ProfileInLog),
  stored_bytes: Schema.NullOr(Schema.FiniteFromString)
})

/** Log entries after each meter, by Sandbox. */
export const readTransitions = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, meters: ReadonlyArray<Meter>) {
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: TransitionRow,
    execute: () => sql`
      select t.actor_id, t.revision, t.at, t.from_state, t.to_state,
             case when jsonb_typeof(t.event -> 'seenAt') = 'number' then t.event ->> 'seenAt' end as seen_at,
             t.event #> '{changes,profile}' as profile,
             case when jsonb_typeof(t.event -> 'storedBytes') = 'number' then t.event ->> 'storedBytes' end as stored_bytes
      from unnest(${textColumn(meters.map(({ sandboxId }) => sandboxId))}::text[],
                  ${int8Column(meters.map(({ revision }) => BigInt(revision)))}::int8[]) as m (id, revision)
      join transitions t on t.actor_id = m.id and t.revision > m.revision
      order by t.actor_id, t.revision`
  })
  const logs = new Map<string, Array<FoldedTransition>>()
  for (const row of yield* find()) {
    const log = logs.get(row.actor_id) ?? []
    const sizes =
      row.profile !== null ? sizesInLog(row.profile) : row.stored_bytes !== null ? stored(row.stored_bytes) : null
    log.push({ revision: row.revision, at: row.at, from: row.from_state, to: row.to_state, seenAt: row.seen_at, sizes })
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
  milli_vcpus: Schema.Int,
  memory_bytes: Int8,
  volume_bytes: Int8,
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
  vcpus: row.milli_vcpus / 1000,
  memoryBytes: row.memory_bytes,
  volumeBytes: row.volume_bytes,
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
             s.milli_vcpus, s.memory_bytes, s.volume_bytes, s.vcpu_sum::text, s.memory_sum::text, s.volume_sum::text,
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
