/**
 * The columns of 0013 are plain ones from now on, and the journal writes them where they change (`DerivedColumns.ts`): the database derived
 * all of them again for each transition. Their values and indexes stay as they are, and no row is touched.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    alter table actors
      alter column ended_at drop expression,
      alter column outcome drop expression,
      alter column duration_ms drop expression,
      alter column generation drop expression,
      alter column sandbox_status drop expression,
      alter column labels drop expression`
})
