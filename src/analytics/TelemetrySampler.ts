/** Measures every running Sandbox of this host at a steady interval. */
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { int4Column, int8Column, textColumn } from "../store/Columns.ts"
import { worker } from "../worker/Worker.ts"

const atOnce = 8
const hourMs = 60 * 60 * 1000

const whole = (value: number | null) => (value === null ? null : BigInt(Math.round(value)))

/**
 * Beside each sample, by how much the CPU time grew since the one before of the same boot; and the sums of that by account and UTC hour, of
 * what is really new. The counter of a boot begins at 0.
 */
const insertSamples = `
  with given as (
    select id, account_id, generation, at, cpu_seconds::float8 as cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes
    from unnest($1::text[], $2::text[], $3::int4[], $4::int8[], $5::text[], $6::int8[], $7::int8[], $8::int8[], $9::int8[])
      as i (id, account_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes)
  ), inserted as (
    insert into telemetry_samples (sandbox_id, account_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes,
      network_tx_bytes, cpu_growth_us)
    select g.id, g.account_id, g.generation, g.at, g.cpu_seconds, g.memory_bytes, g.volume_bytes, g.network_rx_bytes, g.network_tx_bytes,
      round(greatest(g.cpu_seconds - coalesce(case when before.generation = g.generation then before.cpu_seconds end, 0), 0) * 1e6)::int8
    from given g left join lateral (
      select generation, cpu_seconds from telemetry_samples t
      where t.sandbox_id = g.id and t.at < g.at and t.cpu_seconds is not null order by t.at desc limit 1
    ) before on true
    on conflict do nothing
    returning account_id, at, cpu_growth_us
  )
  insert into usage_hours as h (account_id, hour, cpu_us, cpu_samples)
  select account_id, at / ${hourMs} * ${hourMs}, sum(cpu_growth_us), count(*) from inserted where cpu_growth_us is not null
  group by 1, 2 order by 1, 2
  on conflict (account_id, hour) do update
    set cpu_us = h.cpu_us + excluded.cpu_us, cpu_samples = h.cpu_samples + excluded.cpu_samples`

export const TelemetrySampler = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const sql = yield* SqlClient.SqlClient
      const { telemetryIntervalMs } = yield* Settings

      const sampleAll = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // One instant for the whole interval: a second process that samples the same host adds nothing.
        const at = now - (now % telemetryIntervalMs)
        const running = yield* sql<{ readonly id: string; readonly accountId: string; readonly generation: number }>`
          select id, account_id as "accountId", (snapshot -> 'context' ->> 'generation')::int4 as generation from actors where kind = 'sandbox' and status = 'running'`
        const taken = yield* Effect.forEach(
          running,
          ({ id, accountId, generation }) =>
            runtime.sample(id, generation).pipe(
              Effect.map((measured) => ({ id, accountId, generation, measured })),
              // It stopped meanwhile, or it runs on another host.
              Effect.catchTag("RuntimeUnavailable", () => Effect.succeed(null))
            ),
          { concurrency: atOnce }
        )
        const samples = taken.filter(
          (sample) => sample !== null && Object.values(sample.measured).some((value) => value !== null)
        ) as ReadonlyArray<NonNullable<(typeof taken)[number]>>
        if (samples.length === 0) return
        yield* sql.unsafe(insertSamples, [
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
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("Telemetry could not be taken", cause)))

      yield* worker("telemetry", sampleAll.pipe(Effect.delay(telemetryIntervalMs), Effect.forever))
    })
  )
}
