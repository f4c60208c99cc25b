/** Acquires permits from the database: one claim at a time, which serves all requests that arrived during the previous one. */
import { Deferred, Effect, FiberSet, type Semaphore } from "effect"
import type { HeldPermits } from "./HeldPermits.ts"
import type { PermitStatements } from "./permitStatements.ts"

/** The effect ends once the database has answered a claim that began after this call. @param writing Held during each statement. */
export const permitClaims = Effect.fnUntraced(function* (
  held: HeldPermits,
  statements: PermitStatements,
  writing: Semaphore.Semaphore
) {
  const run = yield* FiberSet.makeRuntime()
  let next: Deferred.Deferred<void> | null = null
  let isClaiming = false

  const claim = Effect.suspend(() => {
    const requests = held.takeRequests()
    if (requests.length === 0) return Effect.void
    return Effect.map(statements.claim(requests), (granted) => held.grant(granted, granted[0]?.id ?? null))
  }).pipe(writing.withPermit)

  const claimAll: Effect.Effect<void> = Effect.suspend(() => {
    const told = next
    next = null
    isClaiming = told !== null
    if (told === null) return Effect.void
    const one = Effect.onExit(claim, (exit) => Effect.sync(() => void Deferred.doneUnsafe(told, exit)))
    return Effect.andThen(Effect.exit(one), claimAll)
  })

  return Effect.suspend(() => {
    next ??= Deferred.makeUnsafe()
    const told = next
    if (!isClaiming) {
      isClaiming = true
      run(claimAll)
    }
    return Deferred.await(told)
  })
})
