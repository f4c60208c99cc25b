/**
 * Existing Sandboxes are bound to the driver that made them: another one would find neither their machines nor their volumes. A start with
 * another driver ends with a sentence, unless no Sandbox has anything left on the host.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Runtime } from "../runtime/Runtime.ts"
import { textColumn } from "../store/Columns.ts"
import { countedStates } from "./sandboxStates.ts"

export class RuntimeMismatch extends Schema.TaggedError<RuntimeMismatch>()("RuntimeMismatch", {
  message: Schema.String
}) {}

export const RuntimeBinding = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { driver } = yield* Runtime
      const sql = yield* SqlClient.SqlClient
      const findDriver = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ driver: Schema.NullOr(Schema.String) }),
        execute: () => sql`select driver from installation`
      })
      const findCount = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ count: Schema.Int }),
        execute: () => sql`
          select count(*)::int4 as count from actors
          where kind = 'sandbox' and sandbox_status = any(${textColumn(countedStates)}::text[])
            or kind = 'snapshot' and ended_at is null`
      })
      const { driver: bound } = yield* Effect.orDie(findDriver())
      if (bound === driver) return
      // Only then: a million Sandboxes are not soon counted.
      const { count } = bound === null ? { count: 0 } : yield* Effect.orDie(findCount())
      if (count > 0) {
        return yield* new RuntimeMismatch({
          message: `${count} Sandboxes and snapshots exist on the ${bound} runtime, which the ${driver} runtime cannot reach. Set ATOLL_RUNTIME=${bound}, or delete them there first.`
        })
      }
      yield* sql`update installation set driver = ${driver}`.pipe(Effect.orDie)
    })
  )
}
