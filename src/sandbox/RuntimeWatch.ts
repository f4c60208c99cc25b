/**
 * Reconciles the Sandboxes with the machines of this host. Deaths become events, machines without a Sandbox are destroyed, and Sandboxes
 * without their machine are told. A death carries the last moment at which the machine was seen alive.
 *
 * @source design.md invariant 3
 */

import { Effect, Layer, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { bookkeeping } from "../../machines/sandbox.ts"
import { Settings } from "../Config.ts"
import { worker } from "../platform/worker/Worker.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { generationOf, hasPendingBut } from "../store/SnapshotFields.ts"
import { isAlive } from "./aliveSandboxes.ts"
import { Heartbeat } from "./Heartbeat.ts"
import { reconcilerPass, SECOND_PASS_MS } from "./HostReconciler.ts"
import { runtimeNews } from "./RuntimeNews.ts"

const Running = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  generation: Schema.Int,
  revision: Int8,
  isBusy: Schema.Boolean
})

const Row = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  revision: Int8,
  isBusy: Schema.Boolean
})

export const RuntimeWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const news = yield* runtimeNews
      const sql = yield* SqlClient.SqlClient
      const heartbeat = yield* Heartbeat
      const { reconcileIntervalMs } = yield* Settings

      const isBusy = sql.literal(hasPendingBut("actors", bookkeeping))
      const findRunning = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Running,
        execute: () => sql`
          select id, status, revision, ${sql.literal(generationOf("actors"))} as generation, ${isBusy} as "isBusy" from actors
          where ${isAlive(sql)}`
      })

      const findRows = SqlSchema.findAll({
        Request: Schema.Array(Schema.String),
        Result: Row,
        execute: (ids) => sql`
          select id, status, revision, ${isBusy} as "isBusy" from actors where id = any(${textColumn(ids)}::text[])`
      })

      yield* runtime.downs.pipe(
        Stream.runForEach(({ sandboxId, generation, reason }) =>
          heartbeat.seenAt.pipe(
            Effect.flatMap((seenAt) => news.down(sandboxId, generation, reason, seenAt)),
            Effect.catchCause((cause) => Effect.logError(`Could not record the death of ${sandboxId}`, cause))
          )
        ),
        // A runtime without such reports has an empty stream.
        Effect.andThen(Effect.never),
        (downs) => worker("runtime downs", downs)
      )

      yield* runtime.stalls.pipe(
        Stream.runForEach((stall) =>
          news
            .stall(stall)
            .pipe(
              Effect.catchCause((cause) => Effect.logError(`Could not record the stall of ${stall.sandboxId}`, cause))
            )
        ),
        Effect.andThen(Effect.never),
        (stalls) => worker("runtime stalls", stalls)
      )

      const look = reconcilerPass({
        expected: findRunning(),
        inventory: runtime.inventory,
        find: (ids) => Effect.map(findRows(ids), (rows) => rows.map((row) => ({ ...row, isElsewhere: false }))),
        stop: runtime.stop,
        destroy: runtime.destroy,
        news,
        seenAt: heartbeat.seenAt,
        toldUntil: heartbeat.toldUntil
      })
      let isPuzzled = false
      const reconcile = look.pipe(
        Effect.map((seen) => {
          ;({ isPuzzled } = seen)
        }),
        Effect.catchCause((cause) =>
          Effect.logWarning("Could not compare the host's machines with the Sandboxes", cause)
        )
      )

      yield* reconcile
      const pause = Effect.suspend(() =>
        Effect.sleep(isPuzzled ? Math.min(SECOND_PASS_MS, reconcileIntervalMs) : reconcileIntervalMs)
      )
      yield* worker("reconcile", Effect.andThen(pause, reconcile).pipe(Effect.forever))
    })
  )
}
