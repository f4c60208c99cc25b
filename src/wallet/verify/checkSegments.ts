/** Compares the segments of a Sandbox with its usage. */
import { Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { Int8FromText, textColumn } from "../../store/Columns.ts"
import type { Differences } from "./Differences.ts"
import type { Usage } from "./LogCost.ts"
import type { SandboxRow } from "./SandboxRow.ts"

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
    count(*) filter (where vcpu_rate <> case when s.is_running then coalesce(c.vcpu_second_nano_usd, 0)::numeric * s.milli_vcpus else 0 end
      or memory_rate <> case when s.is_running then coalesce(c.memory_gib_second_nano_usd, 0)::numeric * s.memory_bytes else 0 end
      or volume_rate <> case when s.has_volume then 
        coalesce(case when m.snapshot_of is null then c.volume_gib_second_nano_usd else c.snapshot_gib_second_nano_usd end, 0)::numeric * s.volume_bytes else 0 end)::int4 as wrong_rate,
    count(*) filter (where vcpu_micro_usd <> ${costOf("vcpu", "1000000000")} or memory_micro_usd <> ${costOf("memory", bytesPerMicroUsd)}
      or volume_micro_usd <> ${costOf("volume", bytesPerMicroUsd)})::int4 as wrong_cost,
    count(*) filter (where s.account_id <> m.account_id or s.workspace_id <> m.workspace_id or s.snapshot_of is distinct from m.snapshot_of)::int4 as strange
  from segments s join meters m on m.sandbox_id = s.sandbox_id
    left join lateral (select * from rate_cards r where r.effective_at <= s.from_at order by r.effective_at desc limit 1) c on true
  where s.sandbox_id = any($1::text[])
  group by s.sandbox_id`

/** By Sandbox; those without segments have no row. */
export const readSegments = (sql: SqlClient.SqlClient) =>
  SqlSchema.findAll({
    Request: Schema.Array(Schema.String),
    Result: SegmentsRow,
    execute: (sandboxIds) => sql.unsafe(segmentsStatement, [textColumn(sandboxIds)])
  })

export const checkSegments = (
  differences: Differences,
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
