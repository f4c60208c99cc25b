/** A keyed mutex: one task for each account at a time. */
import { Effect, RcMap, Scope, Semaphore } from "effect"

/**
 * A task that waits for a row's lock holds a connection to the database. Many concurrent tasks of one account would leave none
 * for the others, so they wait here instead; the row's lock works across processes.
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
