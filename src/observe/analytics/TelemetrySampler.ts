/**
 * Measures every running Sandbox of this host, or of the hosts that this process supervises, at a steady interval. Each host is measured
 * independently: a slow or silent host is skipped meanwhile and delays no other.
 */

import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../../Config.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { isUp } from "../../sandbox/aliveSandboxes.ts"
import { Placement } from "../../sandbox/Placement.ts"
import { textColumn } from "../../store/Columns.ts"
import { generationOf } from "../../store/SnapshotFields.ts"
import { insertSamples, type Sample } from "./TelemetrySamples.ts"

const atOnce = 8
const answerWithin = "10 seconds"
/** For all Sandboxes of this host together. */
const allWithin = "60 seconds"
/** The key for this host, where there is no fleet. */
const here = ""

export const TelemetrySampler = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const { supervised } = yield* Placement
      const sql = yield* SqlClient.SqlClient
      const { telemetryIntervalMs } = yield* Settings

      const findRunning = SqlSchema.findAll({
        Request: Schema.NullOr(Schema.Array(Schema.String)),
        Result: Schema.Struct({ id: Schema.String, accountId: Schema.String, generation: Schema.Int }),
        execute: (hosts) => sql`
          select id, account_id as "accountId", ${sql.literal(generationOf("actors"))} as generation from actors
          where ${isUp(sql)}
          ${hosts === null ? sql`` : sql`and id in (select sandbox_id from host_promises where is_up and host_id = any(${textColumn(hosts)}::text[]))`}`
      })

      const sample = Effect.fnUntraced(
        function* (at: number, host: string) {
          const isHere = host === here
          const running = yield* findRunning(isHere ? null : [host])
          const measured = ({ id, accountId, generation }: (typeof running)[number]) =>
            runtime.sample(id, generation).pipe(
              Effect.map((measured) => ({ id, accountId, generation, measured })),
              // It stopped meanwhile, or runs on another host.
              Effect.catchTag("RuntimeUnavailable", () => Effect.succeed(null))
            )
          // This host's kernel answers by itself, and a fiber with a time limit for each answer costs more than the answer.
          const taken = isHere
            ? yield* Effect.timeout(Effect.forEach(running, measured), allWithin)
            : yield* Effect.forEach(
                running,
                (it) =>
                  Effect.catchTag(Effect.timeout(measured(it), answerWithin), "TimeoutError", () =>
                    Effect.succeed(null)
                  ),
                { concurrency: atOnce }
              )
          const samples = taken.filter(
            (sample) => sample !== null && Object.values(sample.measured).some((value) => value !== null)
          ) as ReadonlyArray<Sample>
          if (samples.length === 0) return
          yield* insertSamples(sql, at, samples)
        },
        Effect.catchCause((cause) => Effect.logWarning("Telemetry could not be taken", cause))
      )

      /** Hosts that are being measured. */
      const busy = new Set<string>()
      const scope = yield* Effect.scope
      const sampleAll = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        // One instant for the whole interval: a second process that samples the same host adds no rows.
        const at = now - (now % telemetryIntervalMs)
        for (const host of (yield* supervised) ?? [here]) {
          if (busy.has(host)) continue
          busy.add(host)
          const measuring = Effect.ensuring(
            sample(at, host),
            Effect.sync(() => void busy.delete(host))
          )
          yield* Effect.forkIn(measuring, scope)
        }
      })

      yield* worker("telemetry", sampleAll.pipe(Effect.delay(telemetryIntervalMs), Effect.forever))
    })
  )
}
