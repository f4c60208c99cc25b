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
import { Effect } from "effect"

export const leaseMs = 100

/** Clocks of two machines may run at slightly different speeds, and timers have a resolution of a millisecond. */
const marginMs = 10

/** Call it after a commit that changes a key or its account: when it returns, no process uses the old state. */
export const awaitLeases = Effect.promise<void>(() => new Promise((resolve) => setTimeout(resolve, leaseMs + marginMs)))

/** Milliseconds of this process's monotonic clock. */
export const leaseClock = (): number => performance.now()
