/**
 * The outage of the database, for the log: a line that only says that something failed because of it is one statement more that was not served.
 */
import { type Cause, Context } from "effect"
import { SqlError } from "effect/sql"
import { sqlStateOf } from "./DatabaseFault.ts"

const causesMax = 5

/** Refused or broken connections, a server that ends, starts or is full, and one that takes no changes. */
const outageStates = /^(?:08|53|57P|25006)/

const isOutage = (error: SqlError.SqlError): boolean => {
  const state = sqlStateOf(error)
  return state === null
    ? error.reason._tag === "ConnectionError" || error.reason.operation === "connect"
    : outageStates.test(state)
}

/** Null: it is, or led to, something else as well. */
const outageFault = (fault: unknown): SqlError.SqlError | null => {
  let inner = fault
  for (let depth = 0; depth < causesMax; depth++) {
    if (SqlError.isSqlError(inner)) return isOutage(inner) ? inner : null
    if (typeof inner !== "object" || inner === null || !("cause" in inner)) return null
    inner = inner.cause
  }
  return null
}

const faultsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  cause.reasons.flatMap((reason) =>
    reason._tag === "Fail" ? [reason.error] : reason._tag === "Die" ? [reason.defect] : []
  )

export interface Outages {
  /** An outage lasts, or has just ended: what failed in it is still being reported. */
  readonly lasts: () => boolean
  /** A statement that was not served; begins an outage if there is none. */
  readonly met: (error: SqlError.SqlError) => void
}

export class DatabaseOutage {
  #outages: Outages | null = null

  /** From now on these are the outages that are meant. */
  follow(outages: Outages): void {
    this.#outages = outages
  }

  /** Whether a log line with this cause says only that the database does not serve. Counts it. */
  explains(cause: Cause.Cause<unknown>): boolean {
    const outages = this.#outages
    if (outages === null) return false
    const faults = faultsOf(cause)
    if (faults.length === 0) return false
    const errors = faults.map(outageFault)
    if (errors.includes(null)) return false
    for (const error of errors) outages.met(error!)
    return true
  }

  get lasts(): boolean {
    return this.#outages?.lasts() ?? false
  }
}

const ofProcess = new DatabaseOutage()

/** Of the database of this process, or of a test's own service. */
export const Outage = Context.Reference<DatabaseOutage>("atoll/store/Outage", { defaultValue: () => ofProcess })
