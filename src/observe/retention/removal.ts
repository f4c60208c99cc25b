/** Deletes rows in batches, and counts them. */
import { Effect, Schema } from "effect"
import { type SqlClient, type SqlError, SqlSchema } from "effect/sql"

export const batch = 1000
const hourMs = 60 * 60 * 1000

/** The number of deleted rows. */
export type Removed = Effect.Effect<number, SqlError.SqlError | Schema.SchemaError>

export const Parameters = Schema.Array(Schema.Unknown)

/** Keeps the number of deleted rows, by account and UTC hour. `gone`: a query for the `account_id` and the time `at` of each. */
export const keepCounts = (what: "executes" | "operations", gone: string) => `
  insert into usage_hours as h (account_id, hour, ${what})
  select account_id, at / ${hourMs} * ${hourMs}, count(*) from (${gone}) g group by 1, 2 order by 1, 2
  on conflict (account_id, hour) do update set ${what} = h.${what} + excluded.${what}`

/** Repeats a statement that returns its number of rows, until that is less than a batch. */
export const repeatedly = (statement: Removed): Removed =>
  Effect.gen(function* () {
    let total = 0
    while (true) {
      const count = yield* statement
      total += count
      if (count < batch) return total
    }
  })

/** A statement that returns the number of rows that it deleted, as `count`. */
export const counted = (sql: SqlClient.SqlClient, statement: string, parameters: ReadonlyArray<unknown>): Removed =>
  SqlSchema.findOne({
    Request: Parameters,
    Result: Schema.Struct({ count: Schema.Int }),
    execute: (given) => sql.unsafe(statement, given)
  })(parameters).pipe(
    Effect.catchTag("NoSuchElementError", Effect.die),
    Effect.map(({ count }) => count)
  )
