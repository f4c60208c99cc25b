/** What is done for one account at a time. */
import { Effect, RcMap, Scope, Semaphore } from "effect"

/**
 * Whoever waits for the lock of a row waits on a connection to the database. With many at once for one account there would be none left
 * for the others, so they wait here; the lock is what holds over several processes.
 */
export const inTurn = Effect.map(
  RcMap.make({ lookup: (_accountId: string) => Semaphore.make(1) }),
  (turns) =>
    (accountId: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.scopedWith((scope) =>
        Effect.flatMap(RcMap.get(turns, accountId).pipe(Effect.provideService(Scope.Scope, scope)), (turn) =>
          turn.withPermit(effect)
        )
      )
)
