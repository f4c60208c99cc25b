/** An act of the operator and its audit event are one commit: a crash leaves both or neither. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SqlError } from "effect/sql/SqlError"
import { awaitingLeasesAfter, awaitLeases } from "../../../account/KeyLease.ts"

const isFault = (error: unknown): error is SqlError => error instanceof SqlError

/**
 * An act that waits for leases waits once both are committed; so does one whose commit the database did not answer, because it may be committed: who
 * hears of the fault, and sees that it was done, meets no process that uses an older read.
 */
export const together = <A, E, R>(act: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.catchIf(awaitingLeasesAfter(sql.withTransaction(act)), isFault, (fault) =>
      Effect.andThen(awaitLeases, Effect.die(fault))
    )
  )
