/**
 * SQL for the states and costs of Sandboxes and of their snapshots within a window: closed segments, and the growth of open meters since. Each piece is clipped to the
 * window, and lies in one UTC day. Its cost is a difference of rounded sums (`Cost.ts`), so adjacent windows add up to the micro-dollar.
 */
import { Schema } from "effect"
import { Int8 } from "../store/Columns.ts"
import { divisors } from "./Cost.ts"
import { dayMs } from "./Fold.ts"

/** An account, the window's start and end, and now: $1 to $4 of `withPieces`. */
export const ReportRequest = Schema.Tuple([Schema.String, Int8, Int8, Int8])

/** The same, and one Sandbox: $5 of `withPiecesOfSandbox`. */
export const SandboxReportRequest = Schema.Tuple([Schema.String, Int8, Int8, Int8, Schema.String])

/** A sum at an instant within its piece. */
const sumAt = (component: string, at: string) => `${component}_sum + ${component}_rate * (${at} - from_at)`

/** Signed micro-USD. A piece that lies completely within the window has a stored cost. */
const costOf = (component: keyof typeof divisors) => `
  case when ${component}_micro_usd is not null and from_at >= $2::int8 and to_at <= $3::int8 then ${component}_micro_usd
       else sign * (div(${sumAt(component, "least(to_at, $3::int8)")}, ${divisors[component]})
                    - div(${sumAt(component, "greatest(from_at, $2::int8)")}, ${divisors[component]}))::int8
  end as ${component}_micro_usd`

/**
 * Common table expressions; the first words of a statement.
 * - `open`: the meters that may still grow.
 * - $1 account, $2 and $3 the window, $4 now.
 * - `instant` (`at`): meters are read up to here: now, or later if a faster clock closed one.
 * - `piece` (`sandbox_id`, `is_snapshot`, `ms`, …): `ms` and costs are negative where a piece reverses another. A piece of a snapshot is of its Sandbox, of an imported one of itself.
 */
const pieces = (whose: string) => `
  with open as materialized (
    select sandbox_id, snapshot_of, workspace_id, at, is_running, milli_vcpus, memory_bytes, volume_bytes, vcpu_sum, memory_sum, volume_sum
    from meters where ${whose} and closed_at is null and has_volume
  ), instant as materialized (
    select greatest($4::int8, coalesce(max(at), 0)) as at, min(at) as since from open
  ), edge as (
    select since as at from instant where since < at
    union select effective_at from rate_cards, instant where effective_at > since and effective_at < instant.at
    union select generate_series((greatest(since, $2::int8) / ${dayMs} + 1) * ${dayMs}, least(at, $3::int8) - 1, ${dayMs})
          from instant where since is not null
  ), span as materialized (
    select e.from_at, e.to_at, coalesce(c.vcpu_second_nano_usd, 0)::numeric as vcpu, coalesce(c.memory_gib_second_nano_usd, 0)::numeric as memory,
           coalesce(c.volume_gib_second_nano_usd, 0)::numeric as volume, coalesce(c.snapshot_gib_second_nano_usd, 0)::numeric as snapshot
    from (select edge.at as from_at, lead(edge.at, 1, instant.at) over (order by edge.at) as to_at from edge, instant) e
    left join lateral (select * from rate_cards where effective_at <= e.from_at order by effective_at desc limit 1) c on true
  ), burnt as (
    select o.*, greatest(o.at, s.from_at) as from_at, s.to_at,
           case when o.is_running then s.vcpu * o.milli_vcpus else 0 end as vcpu_rate,
           case when o.is_running then s.memory * o.memory_bytes else 0 end as memory_rate,
           case when o.snapshot_of is null then s.volume else s.snapshot end * o.volume_bytes as volume_rate
    from open o join span s on s.to_at > o.at
  ), grown as (
    select sandbox_id, snapshot_of, workspace_id, from_at, to_at, is_running, milli_vcpus, memory_bytes, volume_bytes, vcpu_rate, memory_rate, volume_rate,
           vcpu_sum + coalesce(sum(vcpu_rate * (to_at - from_at)) over earlier, 0) as vcpu_sum,
           memory_sum + coalesce(sum(memory_rate * (to_at - from_at)) over earlier, 0) as memory_sum,
           volume_sum + coalesce(sum(volume_rate * (to_at - from_at)) over earlier, 0) as volume_sum
    from burnt window earlier as (partition by sandbox_id order by from_at rows between unbounded preceding and 1 preceding)
  ), whole as (
    -- A segment is never longer than a day.
    select sandbox_id, snapshot_of, workspace_id, from_at, to_at, sign, is_running, has_volume, milli_vcpus, memory_bytes, volume_bytes, vcpu_rate, memory_rate, volume_rate,
           vcpu_sum, memory_sum, volume_sum, vcpu_micro_usd, memory_micro_usd, volume_micro_usd
    from segments where ${whose} and from_at > $2::int8 - ${dayMs} and from_at < $3::int8 and to_at > $2::int8
    union all
    select sandbox_id, snapshot_of, workspace_id, from_at, to_at, 1, is_running, true, milli_vcpus, memory_bytes, volume_bytes, vcpu_rate, memory_rate, volume_rate,
           vcpu_sum, memory_sum, volume_sum, null, null, null
    from grown where from_at < $3::int8 and to_at > $2::int8
  ), piece as (
    select coalesce(nullif(snapshot_of, ''), sandbox_id) as sandbox_id, snapshot_of is not null as is_snapshot, workspace_id, greatest(from_at, $2::int8) as from_at, least(to_at, $3::int8) as to_at,
           sign * (least(to_at, $3::int8) - greatest(from_at, $2::int8)) as ms, is_running, has_volume, milli_vcpus, memory_bytes, volume_bytes,
           ${costOf("vcpu")}, ${costOf("memory")}, ${costOf("volume")}
    from whole
  )`

export const withPieces = pieces("account_id = $1")

export const withPiecesOfSandbox = pieces("account_id = $1 and (sandbox_id = $5 or snapshot_of = $5)")
