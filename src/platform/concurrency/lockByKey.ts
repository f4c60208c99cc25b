/** A mutex for each key, for code with Effect. */
import { Effect, RcMap, Scope, Semaphore } from "effect"

/**
 * Makes `withLock(key)(effect)`: effects with the same key run one after the other, in order. A key that nobody holds takes no memory.
 *
 * Creates of one account use it before they take a connection: a request that waits for the lock of a row holds a connection, and many of one
 * account would leave none to the others. The row's lock is what holds over several processes.
 */
export const lockByKey = Effect.map(
  RcMap.make({ lookup: (_key: string) => Semaphore.make(1) }),
  (locks) =>
    (key: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.scopedWith((scope) =>
        Effect.flatMap(RcMap.get(locks, key).pipe(Effect.provideService(Scope.Scope, scope)), (lock) =>
          lock.withPermit(effect)
        )
      )
)
