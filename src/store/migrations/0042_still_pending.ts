/**
 * With each transition: the keys (`revision.index`) of commands of earlier ones that were not done yet when it was taken, with a space between two.
 * Null: taken before this was kept, and not known.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // The default is for those to come: it says nothing of what is there.
  yield* sql`alter table transitions add column still_pending text`
  yield* sql`alter table transitions alter column still_pending set default ''`
})
