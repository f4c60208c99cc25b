/** Measures every running Sandbox of this host at a steady interval. */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { worker } from "../worker/Worker.ts"
import { insertSamples, type Sample } from "./TelemetrySamples.ts"

const atOnce = 8

export const TelemetrySampler = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const sql = yield* SqlClient.SqlClient
      const { telemetryIntervalMs } = yield* Settings

      const findRunning = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ id: Schema.String, accountId: Schema.String, generation: Schema.Int }),
        execute: () => sql`
          select id, account_id as "accountId", (snapshot -> 'context' ->> 'generation')::int4 as generation from actors where kind = 'sandbox' and status = 'running'`
      })

      const sampleAll = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // One instant for the whole interval: a second process that samples the same host adds nothing.
        const at = now - (now % telemetryIntervalMs)
        const running = yield* findRunning()
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
        ) as ReadonlyArray<Sample>
        if (samples.length === 0) return
        yield* insertSamples(sql, at, samples)
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("Telemetry could not be taken", cause)))

      yield* worker("telemetry", sampleAll.pipe(Effect.delay(telemetryIntervalMs), Effect.forever))
    })
  )
}
