/**
 * Until when the machines of this host were listened to. Usually that is now: a death is heard at once. But a service that was down, or a
 * process that was frozen, hears of it long after; then it is the last beat before.
 *
 * A beat is one row of the database, written every few seconds while a Sandbox runs. A gap between two beats is over only once the machines
 * were compared with the Sandboxes: what is found dead until then may have died at any time in it.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../store/Columns.ts"
import { isTransient } from "../store/DatabaseFault.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { worker } from "../worker/Worker.ts"
import { makeHearing } from "./Hearing.ts"

const beatEveryMs = 5_000
/** Silent for longer than this between two beats, the process was held up. */
const gapAfterMs = 2 * beatEveryMs

export class Heartbeat extends Context.Service<
  Heartbeat,
  {
    /** Epoch milliseconds: a machine that is found dead now was alive then, as far as anybody knows. Null: nobody knows of any such moment. */
    readonly seenAt: Effect.Effect<number | null>
    /** All that was dead at this instant has been told. */
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
        // The next beat is as good.
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
