/** Measures every running Sandbox of this host at a steady interval. */
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/unstable/sql"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"

const atOnce = 8

const whole = (value: number | null) => (value === null ? null : BigInt(Math.round(value)))

export const TelemetrySampler = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const sql = yield* SqlClient.SqlClient
      const { telemetryIntervalMs } = yield* Settings

      const sample = Effect.fnUntraced(function* (sandboxId: string, generation: number, at: number) {
        const measured = yield* runtime.sample(sandboxId, generation)
        if (Object.values(measured).every((value) => value === null)) return
        yield* sql`
          insert into telemetry_samples (sandbox_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes)
          values (${sandboxId}, ${generation}, ${BigInt(at)}, ${measured.cpuSeconds}, ${whole(measured.memoryBytes)},
                  ${whole(measured.volumeBytes)}, ${whole(measured.networkRxBytes)}, ${whole(measured.networkTxBytes)})
          on conflict do nothing`
      })

      const sampleAll = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // One instant for the whole interval: a second process that samples the same host adds nothing.
        const at = now - (now % telemetryIntervalMs)
        const running = yield* sql<{ readonly id: string; readonly generation: number }>`
          select id, (snapshot -> 'context' ->> 'generation')::int4 as generation from actors where kind = 'sandbox' and status = 'running'`
        yield* Effect.forEach(
          running,
          ({ id, generation }) =>
            // It stopped meanwhile, or it runs on another host.
            sample(id, generation, at).pipe(Effect.catchTag("RuntimeUnavailable", () => Effect.void)),
          { concurrency: atOnce, discard: true }
        )
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("Telemetry could not be taken", cause)))

      yield* sampleAll.pipe(Effect.delay(telemetryIntervalMs), Effect.forever, Effect.forkScoped)
    })
  )
}
