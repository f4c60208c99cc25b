/**
 * Whose fault a failed statement is: the database's, which may serve it later, or the statement's own, which no repetition mends.
 *
 * @source PostgreSQL "Appendix A. PostgreSQL Error Codes"
 */
import { Schedule } from "effect"
import { SqlError } from "effect/sql"

/** Whole classes: connection exception, insufficient resources, operator intervention, system error, transaction rollback. */
const transientClasses: ReadonlySet<string> = new Set(["08", "53", "57", "58", "40"])

const transientStates: ReadonlySet<string> = new Set([
  "25006", // a standby, or a server that was made read-only
  "25P03", // we asked nothing for so long that the server took the transaction back
  "55P03", // a lock was not to be had in time
  "72000" // the snapshot is too old
])

const transientReasons: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError"
])

/** Five characters; null when the server said nothing (a connection that broke). */
export const sqlStateOf = (error: SqlError.SqlError): string | null => {
  const { cause } = error.reason
  return typeof cause === "object" && cause !== null && "code" in cause && /^[0-9A-Z]{5}$/.test(String(cause.code))
    ? String(cause.code)
    : null
}

/** Somebody said no: the server, or the system that it runs on. */
export const wasAnswered = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause

/** The same statement may succeed later: the database does not serve for now, or served somebody else first. */
export const isTransient = (error: SqlError.SqlError): boolean => {
  // Nothing was asked yet: whatever keeps us out (no connection left, a password that was changed), it is not the statement.
  if (error.reason.operation === "connect" || transientReasons.has(error.reason._tag)) return true
  const state = sqlStateOf(error)
  return state !== null && (transientStates.has(state) || transientClasses.has(state.slice(0, 2)))
}

/** XX is the server's own: a damaged page, a failed assertion. Trying again does not mend it, yet it is not ours. */
export const isDatabaseFault = (fault: unknown): fault is SqlError.SqlError =>
  SqlError.isSqlError(fault) && (isTransient(fault) || (sqlStateOf(fault)?.startsWith("XX") ?? false))

/** What went wrong, in the words of whoever noticed: the server, or the system call. */
export const reasonOf = (error: SqlError.SqlError): string => {
  const cause = error.reason.cause
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  const text = inner instanceof Error ? inner.message : String(inner)
  return text || (error.reason.message ?? error.reason._tag)
}

/** As long as it takes: for what must not be lost, and for what nobody waits for. */
export const untilServed = {
  firstAfterMs: 50,
  schedule: Schedule.min([Schedule.exponential(100), Schedule.spaced(2000)]),
  while: isTransient
}

/** A moment: for what a caller waits for, and may be repeated. */
export const forAMoment = { schedule: Schedule.exponential(50), times: 5, while: isTransient }
