/**
 * Running Sandboxes from a time without sleep (an older version, a setting that was off) have no idle deadline. At the start each of them
 * must set one.
 */

import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { isUp } from "./aliveSandboxes.ts"
import { SandboxUse } from "./SandboxUse.ts"

export const IdleSleep = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { sleepAfterMs } = yield* SandboxUse
      if (sleepAfterMs === null) return
      const host = yield* ActorHost
      const sql = yield* SqlClient.SqlClient
      const findWaiting = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Schema.Struct({ id: Schema.String }),
        execute: () => sql`select id from actors where ${isUp(sql)} and not deadlines ? 'idle'`
      })
      const waiting = yield* Effect.orDie(findWaiting())
      yield* Effect.forEach(
        waiting,
        ({ id }) => Effect.ignoreCause(host.send(sandboxMachine, id, { type: "IDLE_DUE" }, { cause: "deadline" })),
        { concurrency: 16, discard: true }
      ).pipe(Effect.forkScoped)
    })
  )
}
