/** Each Sandbox's whole log, worked out anew, beside its meter and its segments. */

import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { Int8FromText, textColumn } from "../../store/Columns.ts"
import { isGone } from "../billedStates.ts"
import type { RateCard } from "../RateCard.ts"
import { eachBatch } from "./cursor.ts"
import type { Differences } from "./Differences.ts"
import { LogCost, type LogLine, type Usage } from "./LogCost.ts"

const sandboxesAtOnce = 500
const linesAtOnce = 5000

export interface SandboxCounts {
  transitions: number
  sandboxes: number
  /** Of those: their logs were deleted by retention, and only the books are left. */
  pruned: number
  /** Of those: a posting is pending. */
  unposted: number
  /** Micro-USD, up to each meter's instant. */
  cost: bigint
}

interface SandboxRow {
  readonly id: string
  readonly account_id: string
  /** Null: its log was deleted. */
  readonly log: {
    readonly accountId: string
    readonly workspaceId: string
    readonly vcpus: string
    readonly memoryBytes: string
    readonly volumeBytes: string
    readonly revision: string
    readonly isPosting: boolean
  } | null
  /** Null: nothing was posted yet. */
  readonly meter: {
    readonly workspaceId: string
    readonly vcpus: string
    readonly memoryBytes: string
    readonly volumeBytes: string
    readonly revision: string
    readonly at: string
    readonly changedAt: string
    readonly runSince: string | null
    readonly isRunning: boolean
    readonly hasVolume: boolean
    readonly segments: number
    readonly vcpuSum: string
    readonly memorySum: string
    readonly volumeSum: string
    readonly closedAt: string | null
  } | null
}

/** $1: an account, or null. Integers are text, because JSON numbers are not exact. */
const sandboxesStatement = `
  select coalesce(m.sandbox_id, a.id) as id, coalesce(m.account_id, a.account_id) as account_id,
    case when a.id is not null then jsonb_build_object('accountId', a.account_id, 'workspaceId', a.workspace_id,
      'vcpus', a.input -> 'profile' ->> 'vcpus', 'memoryBytes', a.input -> 'profile' ->> 'memoryBytes',
      'volumeBytes', a.input -> 'profile' ->> 'diskBytes', 'revision', a.revision::text,      'isPosting', a.pending @> '[{"type": "meter"}]'::jsonb) end as log,
    case when m.sandbox_id is not null then jsonb_build_object('workspaceId', m.workspace_id, 'vcpus', m.vcpus::text,
      'memoryBytes', m.memory_bytes::text, 'volumeBytes', m.volume_bytes::text, 'revision', m.revision::text, 'at', m.at::text,
      'changedAt', m.changed_at::text, 'runSince', m.run_since::text, 'isRunning', m.is_running, 'hasVolume', m.has_volume,
      'segments', m.segments, 'vcpuSum', m.vcpu_sum::text, 'memorySum', m.memory_sum::text, 'volumeSum', m.volume_sum::text,
      'closedAt', m.closed_at::text) end as meter
  from (select * from actors where kind = 'sandbox' and ($1::text is null or account_id = $1)) a
    full join (select * from meters where $1::text is null or account_id = $1) m on m.sandbox_id = a.id
  order by 1`

interface LineRow {
  readonly actor_id: string
  readonly revision: bigint
  readonly at: bigint
  readonly from_state: string | null
  readonly to_state: string
  readonly seen_at: string | null
}

const linesStatement = `
  select actor_id, revision, at, from_state, to_state,
         case when jsonb_typeof(event -> 'seenAt') = 'number' then event ->> 'seenAt' end as seen_at
  from transitions where actor_id = any($1::text[]) order by actor_id, revision`

interface ReadLog {
  readonly cost: LogCost
  /** The last revision that was posted. */
  readonly posted: number
  /** A cost has not been posted. */
  isBehind: boolean
  last: LogLine | null
  /** No revision is missing so far. */
  isWhole: boolean
}

const SegmentsRow = Schema.Struct({
  sandbox_id: Schema.String,
  count: Schema.Int,
  first: Schema.Int,
  last: Schema.Int,
  vcpu: Schema.BigIntFromString,
  memory: Schema.BigIntFromString,
  volume: Schema.BigIntFromString,
  running_ms: Int8FromText,
  volume_ms: Int8FromText,
  across: Schema.Int,
  wrong_rate: Schema.Int,
  wrong_cost: Schema.Int,
  strange: Schema.Int
})
type SegmentsRow = typeof SegmentsRow.Type

const bytesPerMicroUsd = `(1000000::numeric * 1073741824)`

const costOf = (component: string, divisor: string) =>
  `s.sign * (div(s.${component}_sum + s.${component}_rate * (s.to_at - s.from_at), ${divisor}) - div(s.${component}_sum, ${divisor}))`

/** Checks each segment alone (one day, one card, that card's rates, the cost of its own sums) and the total of each Sandbox. */
const segmentsStatement = `
  select s.sandbox_id, count(*)::int4 as count, min(number)::int4 as first, max(number)::int4 as last,
    sum(vcpu_micro_usd)::text as vcpu, sum(memory_micro_usd)::text as memory, sum(volume_micro_usd)::text as volume,
    coalesce(sum(sign * (to_at - from_at)) filter (where s.is_running), 0)::text as running_ms,
    coalesce(sum(sign * (to_at - from_at)) filter (where s.has_volume), 0)::text as volume_ms,
    count(*) filter (where from_at >= to_at or from_at / 86400000 <> (to_at - 1) / 86400000
      or exists (select from rate_cards r where r.effective_at > from_at and r.effective_at < to_at))::int4 as across,
    count(*) filter (where vcpu_rate <> case when s.is_running then coalesce(c.vcpu_second_nano_usd, 0)::numeric * m.vcpus else 0 end
      or memory_rate <> case when s.is_running then coalesce(c.memory_gib_second_nano_usd, 0)::numeric * m.memory_bytes else 0 end
      or volume_rate <> case when s.has_volume then coalesce(c.volume_gib_second_nano_usd, 0)::numeric * m.volume_bytes else 0 end)::int4 as wrong_rate,
    count(*) filter (where vcpu_micro_usd <> ${costOf("vcpu", "1000000")} or memory_micro_usd <> ${costOf("memory", bytesPerMicroUsd)}
      or volume_micro_usd <> ${costOf("volume", bytesPerMicroUsd)})::int4 as wrong_cost,
    count(*) filter (where s.account_id <> m.account_id or s.workspace_id <> m.workspace_id)::int4 as strange
  from segments s join meters m on m.sandbox_id = s.sandbox_id
    left join lateral (select * from rate_cards r where r.effective_at <= s.from_at order by r.effective_at desc limit 1) c on true
  where s.sandbox_id = any($1::text[])
  group by s.sandbox_id`

/** @param accountId Null: of all accounts. */
export const checkSandboxes = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  accountId: string | null,
  cards: ReadonlyArray<RateCard>,
  differences: Differences
) {
  const findMigrated = SqlSchema.findOneOption({
    Request: Schema.Void,
    Result: Schema.Struct({ since: Schema.Finite }),
    execute: () => sql`
      select (extract(epoch from created_at) * 1000)::float8 as since from atoll_migrations where name = 'money'`
  })
  const findSegments = SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: SegmentsRow,
    execute: (sandboxIds) => sql.unsafe(segmentsStatement, [textColumn(sandboxIds)])
  })
  const since = Option.match(yield* findMigrated(), { onNone: () => 0, onSome: (migrated) => migrated.since })
  const counts: SandboxCounts = { transitions: 0, sandboxes: 0, pruned: 0, unposted: 0, cost: 0n }

  /** The usage in all logs, up to each meter's instant. */
  const readLogs = Effect.fnUntraced(function* (rows: ReadonlyArray<SandboxRow>) {
    const logs = new Map<string, ReadLog>()
    for (const { id, log, meter } of rows) {
      if (log === null) continue
      const sizes = {
        vcpus: Number(log.vcpus),
        memoryBytes: Number(log.memoryBytes),
        volumeBytes: Number(log.volumeBytes)
      }
      const posted = Number(meter?.revision ?? 0)
      logs.set(id, { cost: new LogCost(sizes, cards), posted, isBehind: false, last: null, isWhole: true })
    }
    yield* eachBatch<LineRow, never>(
      sql,
      "lines",
      linesAtOnce,
      linesStatement,
      [textColumn([...logs.keys()])],
      (lines) =>
        Effect.sync(() => {
          counts.transitions += lines.length
          for (const row of lines) {
            const known = logs.get(row.actor_id)!
            const line = {
              revision: Number(row.revision),
              at: Number(row.at),
              from: row.from_state,
              to: row.to_state,
              seenAt: row.seen_at === null ? null : Number(row.seen_at)
            }
            known.isWhole &&= line.revision === (known.last?.revision ?? 0) + 1
            known.last = line
            if (line.revision <= known.posted) known.cost.add(line)
            else known.isBehind ||= known.cost.isPriced(line)
          }
        })
    )
    return logs
  })

  const checkSegments = (
    { id, account_id, meter }: SandboxRow,
    segments: SegmentsRow | undefined,
    {
      microUsd,
      runningMs,
      volumeMs
    }: Pick<Usage, "microUsd"> & { readonly [K in "runningMs" | "volumeMs"]: number | null }
  ) => {
    const compare = <A extends string | number | bigint | null>(what: string, expected: A, found: A) =>
      differences.compare(what, account_id, id, expected, found)
    compare("number of segments", meter!.segments, segments?.count ?? 0)
    compare("vCPU cost of its segments, in micro-USD", microUsd.vcpu, segments?.vcpu ?? 0n)
    compare("memory cost of its segments, in micro-USD", microUsd.memory, segments?.memory ?? 0n)
    compare("volume cost of its segments, in micro-USD", microUsd.volume, segments?.volume ?? 0n)
    if (runningMs !== null) compare("ms of running in its segments", runningMs, segments?.running_ms ?? 0)
    if (volumeMs !== null) compare("ms of volume in its segments", volumeMs, segments?.volume_ms ?? 0)
    if (segments === undefined) return
    compare("number of its first segment", 0, segments.first)
    compare("number of its last segment", segments.count - 1, segments.last)
    compare("segments that are longer than a UTC day or a rate card", 0, segments.across)
    compare("segments at other rates than their card's", 0, segments.wrong_rate)
    compare("segments that do not cost what their sums say", 0, segments.wrong_cost)
    compare("segments of another account or workspace", 0, segments.strange)
  }

  const floorOf = ({ vcpuSum, memorySum, volumeSum }: NonNullable<SandboxRow["meter"]>) => ({
    vcpu: BigInt(vcpuSum) / 10n ** 6n,
    memory: BigInt(memorySum) / (10n ** 6n * 2n ** 30n),
    volume: BigInt(volumeSum) / (10n ** 6n * 2n ** 30n)
  })

  /** It was deleted before metering existed. */
  const isOlder = (meter: SandboxRow["meter"], last: LogLine | null): boolean =>
    meter === null && last !== null && isGone(last.to) && last.at < since

  const check = Effect.fnUntraced(function* (rows: ReadonlyArray<SandboxRow>) {
    counts.sandboxes += rows.length
    const logs = yield* readLogs(rows)
    const segmentRows = yield* findSegments(rows.map(({ id }) => id))
    const segments = new Map(segmentRows.map((row) => [row.sandbox_id, row]))
    for (const row of rows) {
      const { id, account_id, log, meter } = row
      const compare = <A extends string | number | bigint | boolean | null>(what: string, expected: A, found: A) =>
        differences.compare(what, account_id, id, expected, found)
      if (log === null) {
        counts.pruned += 1
        compare("whether the meter of a Sandbox that is gone was closed", true, meter!.closedAt !== null)
        const microUsd = floorOf(meter!)
        counts.cost += microUsd.vcpu + microUsd.memory + microUsd.volume
        checkSegments(row, segments.get(id), { microUsd, runningMs: null, volumeMs: null })
        continue
      }
      const { cost, isBehind, isWhole, last } = logs.get(id)!
      if (!isWhole || last?.revision !== Number(log.revision)) {
        const found = `up to ${last?.revision ?? 0}, or some are missing`
        differences.add("transitions in its log", account_id, id, `1 to ${log.revision}, each`, found)
      }
      if (isBehind && log.isPosting) counts.unposted += 1
      if (isBehind && !log.isPosting && !isOlder(meter, last)) {
        const found = `up to revision ${meter?.revision ?? 0} of ${log.revision}, and nothing will post the rest`
        differences.add("posting", account_id, id, "posted, or about to be", found)
      }
      if (meter === null) continue
      compare("account of the meter", log.accountId, account_id)
      compare("workspace of the meter", log.workspaceId, meter.workspaceId)
      compare("vCPUs of the meter", log.vcpus, meter.vcpus)
      compare("memory of the meter, in bytes", log.memoryBytes, meter.memoryBytes)
      compare("volume of the meter, in bytes", log.volumeBytes, meter.volumeBytes)
      compare("whether it runs", cost.runSince !== null, meter.isRunning)
      compare("since when it runs", cost.runSince, meter.runSince === null ? null : Number(meter.runSince))
      compare("whether its volume is there", cost.volumeSince !== null, meter.hasVolume)
      compare("when it was deleted", cost.deletedAt, meter.closedAt === null ? null : Number(meter.closedAt))
      compare("instant of its last transition", cost.changedAt, Number(meter.changedAt))
      const usage = cost.upTo(Number(meter.at))
      compare("vCPU sum of the meter", usage.sums.vcpu, BigInt(meter.vcpuSum))
      compare("memory sum of the meter", usage.sums.memory, BigInt(meter.memorySum))
      compare("volume sum of the meter", usage.sums.volume, BigInt(meter.volumeSum))
      counts.cost += usage.microUsd.vcpu + usage.microUsd.memory + usage.microUsd.volume
      checkSegments(row, segments.get(id), usage)
    }
  })

  yield* eachBatch<SandboxRow, Effect.Error<ReturnType<typeof check>>>(
    sql,
    "sandboxes",
    sandboxesAtOnce,
    sandboxesStatement,
    [accountId],
    check
  )
  return counts
})
