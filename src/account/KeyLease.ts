/**
 * How long a process may go on accepting a key that it read from the database, and what it read of the key's account with it.
 *
 * A revocation is to hold for every request that begins after it was acknowledged, in every process, and yet a request should not cost
 * a query. So a read is a lease: a process accepts what it read for `leaseMs` from the moment it *began* to read, by its own monotonic
 * clock; and whoever revokes waits, after its commit, until every lease given before has run out, and answers then. No process needs to
 * hear of another, no message can be lost or late, and no clocks are compared: only durations are. Who suspends an account, resumes it, or
 * gives it credit, waits likewise.
 *
 * All processes of one database must agree on it, so it is not a setting.
 */
import { Effect } from "effect"

export const leaseMs = 100

/** Clocks of two machines may run at slightly different speeds, and a timer's grain is a millisecond. */
const marginMs = 10

/** After a commit that changes a key or its account: nobody goes by what was before once this returns. */
export const awaitLeases = Effect.promise<void>(() => new Promise((resolve) => setTimeout(resolve, leaseMs + marginMs)))

/** Milliseconds of this process's monotonic clock. */
export const leaseClock = (): number => performance.now()
