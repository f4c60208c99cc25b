/**
 * Classifies a failed statement: a fault of the database, which may serve it later, or an error of the statement, which no retry mends.
 *
 * @source PostgreSQL "Appendix A. PostgreSQL Error Codes"
 */
import { Schedule } from "effect"
import { SqlError } from "effect/sql"

/** Whole classes: connection exception, insufficient resources, operator intervention, system error, transaction rollback. */
const transientClasses: ReadonlySet<string> = new Set(["08", "53", "57", "58", "40"])

const transientStates: ReadonlySet<string> = new Set([
  "25006", // a standby, or a server that was made read-only
  "25P03", // the transaction was idle for too long, and the server rolled it back
  "55P03", // a lock was not available in time
  "72000" // the snapshot is too old
])

const transientReasons: ReadonlySet<string> = new Set([
  "ConnectionError",
  "DeadlockError",
  "SerializationError",
  "LockTimeoutError",
  "StatementTimeoutError"
])

/** Five characters; null if the server did not answer (a broken connection: EPIPE is an error of the operating system, not a state). */
export const sqlStateOf = (error: SqlError.SqlError): string | null => {
  const { cause } = error.reason
  if (typeof cause !== "object" || cause === null || !("code" in cause) || "syscall" in cause) return null
  return /^[0-9A-Z]{5}$/.test(String(cause.code)) ? String(cause.code) : null
}

/** True if the server, or its operating system, returned an error. */
export const wasAnswered = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause

/** True if the same statement may succeed later: the database is unavailable, or another transaction came first. */
export const isTransient = (error: SqlError.SqlError): boolean => {
  // No statement was sent yet. The cause (no free connection, a changed password) is not the statement.
  if (error.reason.operation === "connect" || transientReasons.has(error.reason._tag)) return true
  const state = sqlStateOf(error)
  return state !== null && (transientStates.has(state) || transientClasses.has(state.slice(0, 2)))
}

/** Class XX is an internal error of the server: a damaged page, a failed assertion. A retry does not mend it, yet it is not our error. */
export const isDatabaseFault = (fault: unknown): fault is SqlError.SqlError =>
  SqlError.isSqlError(fault) && (isTransient(fault) || (sqlStateOf(fault)?.startsWith("XX") ?? false))

/** The reason in the words of the server or of the system call. */
export const reasonOf = (error: SqlError.SqlError): string => {
  const cause = error.reason.cause
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  const text = inner instanceof Error ? inner.message : String(inner)
  return text || (error.reason.message ?? error.reason._tag)
}

/** Retries without end: for data that must not be lost, and for work that no caller waits for. */
export const untilServed = {
  firstAfterMs: 50,
  schedule: Schedule.min([Schedule.exponential(100), Schedule.spaced(2000)]),
  while: isTransient
}

/** Retries briefly: for repeatable statements that a caller waits for. */
export const forAMoment = { schedule: Schedule.exponential(50), times: 5, while: isTransient }
