/**
 * How long a process may use a key, and the key's account, as it read them from the database.
 *
 * A revocation must apply to every request that begins after it was acknowledged, in every process, yet a request should not cost
 * a query. So a read is a lease: a process uses it for `leaseMs` from the moment at which the read *began*, by its own monotonic
 * clock. A revocation waits, after its commit, until every earlier lease has expired, and only then returns. So processes need not
 * communicate, no message can be lost or late, and only durations are compared, not clocks. Suspending and resuming an account, and
 * granting credit, wait likewise.
 *
 * All processes of one database must have the same value, so it is not a setting.
 */
import { Context, Effect } from "effect"

export const leaseMs = 100

/** Clocks of two machines may run at slightly different speeds, and timers have a resolution of a millisecond. */
const marginMs = 10

const wait = Effect.promise<void>(() => new Promise((resolve) => setTimeout(resolve, leaseMs + marginMs)))

/** Set while a larger transaction runs: the wait is for its commit. */
const Later = Context.Reference<{ isWanted: boolean } | null>("atoll/account/KeyLease/Later", {
  defaultValue: () => null
})

/** Call it after a commit that changes a key or its account: when it returns, no process uses the old state. */
export const awaitLeases: Effect.Effect<void> = Effect.flatMap(Later, (later) => {
  if (later === null) return wait
  later.isWanted = true
  return Effect.void
})

/** Runs a transaction of which such changes are parts: what waits inside it waits once, after the commit. */
export const awaitingLeasesAfter = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const later = { isWanted: false }
    return Effect.tap(Effect.provideService(transaction, Later, later), () => (later.isWanted ? wait : Effect.void))
  })

/** Milliseconds of this process's monotonic clock. */
export const leaseClock = (): number => performance.now()
