/** Measures every running Sandbox of this host, or of the hosts that this process attends, at a steady interval. */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { isAlive } from "../sandbox/aliveSandboxes.ts"
import { Placement } from "../sandbox/Placement.ts"
import { textColumn } from "../store/Columns.ts"
import { worker } from "../worker/Worker.ts"
import { insertSamples, type Sample } from "./TelemetrySamples.ts"

const atOnce = 8

export const TelemetrySampler = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const { attended } = yield* Placement
      const sql = yield* SqlClient.SqlClient
      const { telemetryIntervalMs } = yield* Settings

      const findRunning = SqlSchema.findAll({
        Request: Schema.NullOr(Schema.Array(Schema.String)),
        Result: Schema.Struct({ id: Schema.String, accountId: Schema.String, generation: Schema.Int }),
        execute: (hosts) => sql`
          select id, account_id as "accountId", (snapshot -> 'context' ->> 'generation')::int4 as generation from actors
          where ${isAlive(sql)} and sandbox_status = 'running'
          ${hosts === null ? sql`` : sql`and id in (select sandbox_id from host_promises where is_up and host_id = any(${textColumn(hosts)}::text[]))`}`
      })

      const sampleAll = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // One instant for the whole interval: a second process that samples the same host adds nothing.
        const at = now - (now % telemetryIntervalMs)
        const hosts = yield* attended
        if (hosts?.length === 0) return
        const running = yield* findRunning(hosts)
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
