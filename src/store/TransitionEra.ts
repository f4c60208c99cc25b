/**
 * The era names the server whose transaction numbers a database's transitions carry. In a copy restored on another server the numbers start
 * again. Its old transitions then leave the commit order, and earlier stream positions become invalid.
 */
import { randomBytes } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"

/** The era's name. Once after a restore it takes as long as a scan of all transitions. */
export const transitionEra = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const findServer = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ server: Schema.String }),
    execute: () => sql`select system_identifier::text as server from pg_control_system()`
  })
  const findEra = SqlSchema.findOneOption({
    Request: Schema.Void,
    Result: Schema.Struct({ server: Schema.String, era: Schema.String }),
    execute: () => sql`select server, era from transition_eras`
  })
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtextextended('atoll transition era', 0))`
      const { server } = yield* findServer()
      const known = Option.getOrNull(yield* findEra())
      if (known?.server === server) return known.era
      if (known !== null) {
        yield* Effect.log("The database was restored from another server: event streams start again.")
        yield* sql`update transitions set account_key = null where account_key is not null`
        yield* sql`delete from transition_horizons`
        yield* sql`delete from transition_eras`
      }
      const era = randomBytes(4).toString("hex")
      yield* sql`insert into transition_eras (server, era) values (${server}, ${era})`
      return era
    })
  )
})
