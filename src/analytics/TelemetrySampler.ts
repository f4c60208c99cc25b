/** Measures every running Sandbox of this host at a steady interval. */
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { int4Column, int8Column, textColumn } from "../store/Columns.ts"
import { worker } from "../worker/Worker.ts"

const atOnce = 8

const whole = (value: number | null) => (value === null ? null : BigInt(Math.round(value)))

const insertSamples = `
  insert into telemetry_samples (sandbox_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes)
  select id, generation, at, cpu_seconds::float8, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes
  from unnest($1::text[], $2::int4[], $3::int8[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[])
    as i (id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes)
  on conflict do nothing`

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
        const running = yield* sql<{ readonly id: string; readonly generation: number }>`
          select id, (snapshot -> 'context' ->> 'generation')::int4 as generation from actors where kind = 'sandbox' and status = 'running'`
        const taken = yield* Effect.forEach(
          running,
          ({ id, generation }) =>
            runtime.sample(id, generation).pipe(
              Effect.map((measured) => ({ id, generation, measured })),
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
