/** Reads for streams that are behind what the channels keep. */
import { Effect, Queue } from "effect"
import type { SqlClient } from "effect/sql"
import { vitalWorker } from "../../platform/worker/Worker.ts"
import { forAMoment } from "../../store/DatabaseFault.ts"
import { readTransitions, type TransitionPage, type TransitionPosition } from "../../store/TransitionReads.ts"

/** Each may be half a megabyte. */
const atOnceMax = 8

interface CatchUp {
  readonly accountId: string
  readonly after: TransitionPosition
  /** Called once, with null if the read failed for good. */
  readonly then: (page: TransitionPage | null) => void
}

/** Returns a function that asks for a read. */
export const catchingUp = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const waiting = yield* Queue.unbounded<CatchUp>()
  const catchUp = Effect.gen(function* () {
    const asked = yield* Queue.takeBetween(waiting, 1, atOnceMax)
    const pages = yield* readTransitions(sql, asked).pipe(
      Effect.retry(forAMoment),
      Effect.catchCause((cause) => Effect.as(Effect.logWarning("Events could not be read", cause), null))
    )
    asked.forEach(({ then }, index) => {
      then(pages?.[index] ?? null)
    })
  })
  yield* vitalWorker("event catch-up", Effect.forever(catchUp))
  return (asked: CatchUp): void => void Queue.offerUnsafe(waiting, asked)
})
