/** Reads any number of rows in batches, inside a transaction. */
import { Effect, Fiber } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/**
 * No schema checks the rows: they may be millions of log entries.
 *
 * @param name Unique among all cursors: a connection keeps the shape of the rows of a statement.
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
    const fetch = Effect.forkChild(sql.unsafe<Row>(`fetch ${size} from ${name}`))
    let next = yield* fetch
    while (true) {
      const rows = yield* Fiber.join(next)
      const isLast = rows.length < size
      // The database works on the next batch during this one.
      if (!isLast) next = yield* fetch
      if (rows.length > 0) yield* take(rows)
      if (isLast) break
    }
    yield* sql.unsafe(`close ${name}`)
  })
