/** The database's time, on which all services of a fleet agree. */
import type { SqlClient } from "effect/sql"

/** Epoch milliseconds, as a bigint of SQL. */
export const databaseNow = (sql: SqlClient.SqlClient) =>
  sql.literal("(extract(epoch from clock_timestamp()) * 1000)::int8")
