/**
 * Which server's transaction numbers a database's transitions carry. In a copy that was restored elsewhere the numbers begin anew: what is in it
 * leaves the order of commits then, and positions of before mean nothing any more.
 */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** The era's name. May take as long as one look at all transitions, once after a restore. */
export const transitionEra = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(hashtextextended('atoll transition era', 0))`
      const [here] = yield* sql<{ readonly server: string }>`
        select system_identifier::text as server from pg_control_system()`
      const [known] = yield* sql<{ readonly server: string; readonly era: string }>`
        select server, era from transition_eras`
      if (known !== undefined && known.server === here!.server) return known.era
      if (known !== undefined) {
        yield* Effect.log("The database was restored from another server: streams of events begin anew.")
        yield* sql`update transitions set account_key = null where account_key is not null`
        yield* sql`delete from transition_horizons`
        yield* sql`delete from transition_eras`
      }
      const era = randomBytes(4).toString("hex")
      yield* sql`insert into transition_eras (server, era) values (${here!.server}, ${era})`
      return era
    })
  )
})
