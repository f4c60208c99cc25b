/**
 * Semaphores over all processes of a cluster: for an account's streams, for connections into a Sandbox.
 *
 * Each process holds some permits in the database and hands them out from memory (`HeldPermits`), so it sends a statement only when it needs more
 * than it recently had. It returns permits that were unused for a second. Its permits count while its lease (`ProcessLeases`) is valid, so the
 * permits of a dead process are free when other processes take over its actors. A process that was frozen for longer finds itself unregistered,
 * and stores the permits in use again, even beyond the bound: no stream is cut for that, and no new one is admitted.
 *
 * A single process counts in memory, without the database.
 */
import { Clock, Context, Effect, Latch, Layer, Semaphore } from "effect"
import { Settings } from "../Config.ts"
import { type Bound, HeldPermits, type Release } from "./HeldPermits.ts"
import { permitClaims } from "./permitClaims.ts"
import { returnUnusedPermits } from "./permitReturns.ts"
import { permitStatements } from "./permitStatements.ts"

/** A caller that finds none retries for longer than another process keeps unused permits. */
const patienceDefaultMs = 1_800
const againMs = 300

export class ClusterSemaphore extends Context.Service<
  ClusterSemaphore,
  {
    /** Takes one permit of each bound without waiting; null if this process has none free. */
    readonly take: (bounds: ReadonlyArray<Bound>) => Release | null
    /** Acquires so many permits of each for `take`, as far as possible. Null: this process has them already. */
    readonly gather: (bounds: ReadonlyArray<Bound>, many: number) => Effect.Effect<void> | null
    /** Takes one permit of each, and waits for them; null: all are in use. */
    readonly enter: (bounds: ReadonlyArray<Bound>) => Effect.Effect<Release | null>
  }
>()("atoll/store/ClusterSemaphore") {
  /** @param patienceMs How long `gather` retries. */
  static readonly layerOf = (patienceMs: number) =>
    Layer.effect(
      ClusterSemaphore,
      Effect.gen(function* () {
        const { clusterPort, clusterHost } = yield* Settings
        const isAlone = clusterPort === 0
        const some = yield* Latch.make()
        const held = new HeldPermits(isAlone, some)
        const statements = yield* permitStatements(`${clusterHost}:${clusterPort}`)
        const writing = Semaphore.makeUnsafe(1)
        const claimed = yield* permitClaims(held, statements, writing)
        if (!isAlone) yield* returnUnusedPermits(held, statements, { some, writing })

        const gather = (bounds: ReadonlyArray<Bound>, many: number): Effect.Effect<void> | null => {
          if (isAlone || !held.lacks(bounds, many)) return null
          return Effect.gen(function* () {
            const clock = yield* Clock.Clock
            const began = clock.monotonicTimeNanosUnsafe()
            while (held.lacks(bounds, many)) {
              held.ask(bounds, many)
              yield* claimed
              if (!held.lacks(bounds, many)) return
              if (clock.monotonicTimeNanosUnsafe() - began > BigInt(patienceMs) * 1_000_000n) return
              yield* Effect.sleep(againMs)
            }
          })
        }

        const enter = (bounds: ReadonlyArray<Bound>): Effect.Effect<Release | null> =>
          Effect.suspend(() => {
            const gathering = gather(bounds, 1)
            if (gathering === null) return Effect.succeed(held.take(bounds))
            return Effect.map(gathering, () => held.take(bounds))
          })

        return ClusterSemaphore.of({ take: (bounds) => held.take(bounds), gather, enter })
      })
    )

  static readonly layer = ClusterSemaphore.layerOf(patienceDefaultMs)
}
