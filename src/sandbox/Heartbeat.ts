/**
 * How long this host's machines were observed without a gap. Usually until now: a death is reported immediately. A service that was down, or a
 * process that was frozen, learns of a death late; then it uses the last heartbeat.
 *
 * The heartbeat is one row of the database, written every few seconds while a Sandbox runs. A gap between two beats ends only after the machines
 * were compared with the Sandboxes: a machine found dead in that comparison may have died at any time in the gap.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { worker } from "../platform/worker/Worker.ts"
import { Int8 } from "../store/Columns.ts"
import { isTransient } from "../store/DatabaseFault.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { makeHearing } from "./Hearing.ts"

const beatEveryMs = 5_000
/** A longer silence between two beats means that the process was frozen. */
const gapAfterMs = 2 * beatEveryMs

export class Heartbeat extends Context.Service<
  Heartbeat,
  {
    /** Epoch milliseconds: a machine that is found dead now was last known alive then. Null: unknown. */
    readonly seenAt: Effect.Effect<number | null>
    /** All machines dead at this instant have been reported. */
    readonly toldUntil: (at: number) => Effect.Effect<void>
  }
>()("atoll/sandbox/Heartbeat") {
  static readonly layer = Layer.effect(
    Heartbeat,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const watch = yield* DatabaseWatch
      const findStored = SqlSchema.findOneOption({
        Request: Schema.Void,
        Result: Schema.Struct({ at: Int8 }),
        execute: () => sql`select at from heartbeat`
      })
      const stored = yield* findStored().pipe(
        Effect.catchTag("SchemaError", Effect.die),
        watch.untilServed,
        Effect.orDie
      )
      const before = Option.match(stored, { onNone: () => 0, onSome: ({ at }) => at })
      const hearing = yield* makeHearing(before === 0 ? null : before, gapAfterMs)
      const listen = Effect.sync(hearing.listen)

      yield* worker("heartbeat", Effect.forever(Effect.andThen(Effect.sleep(beatEveryMs), listen)))
      const store = Effect.suspend(() => {
        const heardUntil = hearing.heardUntil()
        if (heardUntil === null) return Effect.void
        const at = BigInt(heardUntil)
        return Effect.asVoid(
          sql`update heartbeat set at = ${at} where at <> ${at} and exists (select 1 from meters where is_running)`
        )
      }).pipe(
        Effect.tapError((error) => (isTransient(error) ? watch.fault(error) : Effect.void)),
        // The next beat replaces it.
        Effect.catchIf(isTransient, () => Effect.void)
      )
      yield* worker("heartbeat store", Effect.forever(Effect.andThen(Effect.sleep(beatEveryMs), store)))

      return Heartbeat.of({
        seenAt: Effect.andThen(listen, Effect.sync(hearing.seenAt)),
        toldUntil: (at) =>
          Effect.andThen(
            listen,
            Effect.sync(() => hearing.toldUntil(at))
          )
      })
    })
  )
}
