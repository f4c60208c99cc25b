/** A boot whose time limit starts when its turn comes: a host runs only a few boots concurrently. */
import { Clock, Deferred, Effect } from "effect"

/** A shorter wait counts as part of the boot, and costs no commit. */
const worthTelling = 0.1

/**
 * `boot` calls `turn` when it no longer waits for others. While it waits, and once more after a long wait, `waits` receives the
 * instant (epoch milliseconds) before which the boot has not timed out.
 */
export const bootInTurn = <E>(
  boot: (turn: () => void) => Effect.Effect<void, E>,
  timeoutMs: number,
  waits: (until: number) => Effect.Effect<void>
): Effect.Effect<void, E> =>
  Effect.suspend(() => {
    const itsTurn = Deferred.makeUnsafe<void>()
    const timeBeginsAnew = Effect.flatMap(Clock.currentTimeMillis, (now) => waits(now + timeoutMs))
    const waiting = Effect.gen(function* () {
      const since = yield* Clock.currentTimeMillis
      while (!(yield* Deferred.isDone(itsTurn))) {
        yield* Effect.raceFirst(Deferred.await(itsTurn), Effect.sleep(timeoutMs / 2))
        if ((yield* Clock.currentTimeMillis) - since >= timeoutMs * worthTelling) yield* timeBeginsAnew
      }
      return yield* Effect.never
    })
    return Effect.raceFirst(
      boot(() => Deferred.doneUnsafe(itsTurn, Effect.void)),
      waiting
    )
  })
