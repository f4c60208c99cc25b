/** Reads as many rows as there are, a batch at a time, inside a transaction. */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * Its rows are not held to schemas: they are all that there are, of logs by the million.
 *
 * @param name Unique among those that are open.
 */
export const eachBatch = <Row extends object, E>(
  sql: SqlClient.SqlClient,
  name: string,
  size: number,
  statement: string,
  parameters: ReadonlyArray<unknown>,
  take: (rows: ReadonlyArray<Row>) => Effect.Effect<void, E>
): Effect.Effect<void, E | SqlError.SqlError> =>
  Effect.gen(function* () {
    yield* sql.unsafe(`declare ${name} no scroll cursor for ${statement}`, parameters)
    while (true) {
      const rows = yield* sql.unsafe<Row>(`fetch ${size} from ${name}`)
      if (rows.length > 0) yield* take(rows)
      if (rows.length < size) break
    }
    yield* sql.unsafe(`close ${name}`)
  })
