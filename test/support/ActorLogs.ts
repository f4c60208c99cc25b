/**
 * The transition logs of a whole database, folded through the machines again.
 *
 * @source design.md "replaying it through the machine gives the snapshot"
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { compareAll } from "../../src/ops/histories/verifyHistories.ts"
import { columnFaults } from "./derivedColumns.ts"

const faultsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const { orphans, differences } = yield* compareAll(sql)
  return [
    ...(yield* columnFaults),
    ...(orphans === 0 ? [] : [`${orphans} transitions without an actor`]),
    ...differences.map(({ kind, actorId, difference }) => `${kind} ${actorId}: ${difference}`)
  ]
})

/**
 * The faults of any log of the database: gaps, impossible transitions, a fold that differs from the stored snapshot,
 * columns that differ from it.
 */
export const logFaults = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  // An actor may take a step between two statements: all of them see one moment.
  sql.withTransaction(Effect.andThen(sql`set transaction isolation level repeatable read`, faultsOf(sql)))
)
