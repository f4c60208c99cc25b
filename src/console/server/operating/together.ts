/** An act of the operator and its audit event are one commit: a crash leaves both or neither. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SqlError } from "effect/sql/SqlError"
import { awaitingLeasesAfter } from "../../../account/KeyLease.ts"

const isFault = (error: unknown): error is SqlError => error instanceof SqlError

/** An act that waits for leases waits once both are committed. */
export const together = <A, E, R>(act: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.catchIf(awaitingLeasesAfter(sql.withTransaction(act)), isFault, Effect.die)
  )
