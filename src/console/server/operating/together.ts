/** An act of the operator and its audit event are one commit: a crash leaves both or neither. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SqlError } from "effect/sql/SqlError"

const isFault = (error: unknown): error is SqlError => error instanceof SqlError

/** The caller waits for leases afterwards (`awaitLeases`), if they matter: what waits inside waits before the commit. */
export const together = <A, E, R>(act: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.catchIf(sql.withTransaction(act), isFault, Effect.die))
