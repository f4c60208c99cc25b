/** Stores samples of Sandboxes as rows, and the CPU time of each account by UTC hour, which remains after the samples are deleted. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { ResourceSample } from "../../runtime/Runtime.ts"
import { int4Column, int8Column, textColumn } from "../../store/Columns.ts"

export interface Sample {
  readonly id: string
  readonly accountId: string
  readonly generation: number
  readonly measured: ResourceSample
}

const hourMs = 60 * 60 * 1000

/** An upper bound for CPU time: a host that reports false values must not spoil the sums of others. */
const cpuUsMax = "9000000000000000000"

const whole = (value: number | null) => (value === null ? null : BigInt(Math.round(value)))

/**
 * Stores with each sample the growth of its CPU time since the previous sample of the same boot, and adds the growth of new samples to the sums by
 * account and UTC hour. The counter of a boot begins at 0.
 */
const insertion = `
  with given as (
    select id, account_id, generation, at, cpu_seconds::float8 as cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes
    from unnest($1::text[], $2::text[], $3::int4[], $4::int8[], $5::text[], $6::int8[], $7::int8[], $8::int8[], $9::int8[])
      as i (id, account_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes)
  ), inserted as (
    insert into telemetry_samples (sandbox_id, account_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes,
      network_tx_bytes, cpu_growth_us)
    select g.id, g.account_id, g.generation, g.at, g.cpu_seconds, g.memory_bytes, g.volume_bytes, g.network_rx_bytes, g.network_tx_bytes,
      case when g.cpu_seconds is not null then
        greatest(round(g.cpu_seconds * 1e6) - coalesce(case when before.generation = g.generation then round(before.cpu_seconds * 1e6) end, 0), 0)
      end::int8
    from given g left join lateral (
      select generation, cpu_seconds from telemetry_samples t
      where t.sandbox_id = g.id and t.at < g.at and t.cpu_seconds is not null order by t.at desc limit 1
    ) before on true
    on conflict do nothing
    returning account_id, at, cpu_growth_us
  )
  insert into usage_hours as h (account_id, hour, cpu_us, cpu_samples)
  select account_id, at / ${hourMs} * ${hourMs}, least(sum(cpu_growth_us), ${cpuUsMax})::int8, count(*) from inserted where cpu_growth_us is not null
  group by 1, 2 order by 1, 2
  on conflict (account_id, hour) do update
    set cpu_us = least(h.cpu_us::numeric + excluded.cpu_us, ${cpuUsMax})::int8, cpu_samples = h.cpu_samples + excluded.cpu_samples`

/** Inserts all samples of one instant, in epoch milliseconds. An existing sample stays unchanged and counts once. */
export const insertSamples = (sql: SqlClient.SqlClient, at: number, samples: ReadonlyArray<Sample>) =>
  Effect.asVoid(
    sql.unsafe(insertion, [
      textColumn(samples.map(({ id }) => id)),
      textColumn(samples.map(({ accountId }) => accountId)),
      int4Column(samples.map(({ generation }) => generation)),
      int8Column(samples.map(() => BigInt(at))),
      textColumn(samples.map(({ measured }) => measured.cpuSeconds?.toString() ?? null)),
      int8Column(samples.map(({ measured }) => whole(measured.memoryBytes))),
      int8Column(samples.map(({ measured }) => whole(measured.volumeBytes))),
      int8Column(samples.map(({ measured }) => whole(measured.networkRxBytes))),
      int8Column(samples.map(({ measured }) => whole(measured.networkTxBytes)))
    ])
  )
