/**
 * Keeps the outage of the database out of the log: during an outage, an error that only repeats it is counted, not logged.
 */
import { type Cause, Context } from "effect"
import { SqlError } from "effect/sql"
import { sqlStateOf } from "./DatabaseFault.ts"

const causesMax = 5

/** Refused or broken connections, a server that stops, starts or is full, and a read-only server. */
const outageStates = /^(?:08|53|57P|25006)/

const isOutage = (error: SqlError.SqlError): boolean => {
  const state = sqlStateOf(error)
  return state === null
    ? error.reason._tag === "ConnectionError" || error.reason.operation === "connect"
    : outageStates.test(state)
}

/** The fault of the outage behind an error; null if the error has another cause as well. */
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
  /** True during an outage and shortly after it, while its failures are still being reported. */
  readonly lasts: () => boolean
  /** Reports a statement that the database did not serve; begins an outage if there is none. */
  readonly met: (error: SqlError.SqlError) => void
}

export class DatabaseOutage {
  #outages: Outages | null = null

  /** Sets the source of outages. */
  follow(outages: Outages): void {
    this.#outages = outages
  }

  /** True if a log line with this cause only says that the database does not serve. Counts it. */
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

/** The outage of this process's database, or of a test's own service. */
export const Outage = Context.Reference<DatabaseOutage>("atoll/store/Outage", { defaultValue: () => ofProcess })
