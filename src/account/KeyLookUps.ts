/**
 * Looks keys up in batches: one query at a time, for all requests that arrived during the previous one. So any number of concurrent guesses
 * costs one connection, and the next query finds a newly created key.
 */
import { Deferred, Effect, Exit, FiberSet } from "effect"
import { leaseClock, leaseMs } from "./KeyLease.ts"

const batchMax = 1000

/** @param read Returns the found keys by hash. */
export const keyLookUps = Effect.fnUntraced(function* <A>(
  read: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, A>>
) {
  type Outcome = Deferred.Deferred<A | undefined>
  const run = yield* FiberSet.makeRuntime()
  const waiting = new Map<string, Outcome>()
  let reading: { readonly since: number; readonly outcomes: ReadonlyMap<string, Outcome> } | null = null

  const next = Effect.suspend(() => {
    const outcomes = new Map([...waiting].slice(0, batchMax))
    for (const hash of outcomes.keys()) waiting.delete(hash)
    reading = { since: leaseClock(), outcomes }
    return Effect.onExit(read([...outcomes.keys()]), (exit) =>
      Effect.sync(() => {
        reading = null
        for (const [hash, outcome] of outcomes) {
          Deferred.doneUnsafe(
            outcome,
            Exit.map(exit, (found) => found.get(hash))
          )
        }
      })
    )
  })

  let isRunning = false
  const readAll: Effect.Effect<void> = Effect.suspend(() => {
    isRunning = waiting.size > 0
    return isRunning ? Effect.andThen(Effect.exit(next), readAll) : Effect.void
  })

  return (hash: string): Effect.Effect<A | undefined> =>
    Effect.suspend(() => {
      // The result of an older query would not be a valid lease.
      const shared = reading !== null && leaseClock() - reading.since < leaseMs ? reading.outcomes.get(hash) : undefined
      const known = shared ?? waiting.get(hash)
      if (known !== undefined) return Deferred.await(known)
      const outcome: Outcome = Deferred.makeUnsafe()
      waiting.set(hash, outcome)
      if (!isRunning) {
        isRunning = true
        run(readAll)
      }
      return Deferred.await(outcome)
    })
})
