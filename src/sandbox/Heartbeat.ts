/**
 * Until when the machines of this host were listened to. Usually that is now: a death is heard at once. But a service that was down, or a
 * process that was frozen, hears of it long after; then it is the last beat before.
 *
 * A beat is one row of the database, written every few seconds while a Sandbox runs. A gap between two beats is over only once the machines
 * were compared with the Sandboxes: what is found dead until then may have died at any time in it.
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../store/Columns.ts"
import { isTransient } from "../store/DatabaseFault.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { worker } from "../worker/Worker.ts"

const beatEveryMs = 5_000
/** Silent for longer than this between two beats, the process was held up. */
const gapAfterMs = 2 * beatEveryMs

interface Gap {
  /** The last beat before it, epoch milliseconds; null: there was none. */
  readonly from: number | null
  readonly until: number
}

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
      const clock = yield* Clock.Clock
      const instant = () => ({
        at: clock.currentTimeMillisUnsafe(),
        // Of a clock that is set, the other one knows nothing; and it stands still while a whole machine does.
        ticks: Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
      })

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
      let last = instant()
      const before = Option.match(stored, { onNone: () => 0, onSome: ({ at }) => at })
      let gap: Gap | null = { from: before === 0 ? null : before, until: last.at }

      const listen = () => {
        const now = instant()
        if (now.at - last.at > gapAfterMs || now.ticks - last.ticks > gapAfterMs) {
          gap = { from: gap === null ? last.at : gap.from, until: now.at }
        }
        last = now
      }

      yield* worker("heartbeat", Effect.forever(Effect.andThen(Effect.sleep(beatEveryMs), Effect.sync(listen))))
      const store = Effect.suspend(() => {
        if (gap !== null) return Effect.void
        const at = BigInt(last.at)
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
        seenAt: Effect.sync(() => {
          listen()
          return gap === null ? last.at : gap.from
        }),
        toldUntil: (at) =>
          Effect.sync(() => {
            listen()
            if (gap !== null && gap.until <= at) gap = null
          })
      })
    })
  )
}
