/** The process that claimed the database alone and has not left: its successor waits until that one is no longer sure of it (`SoleOwner.ts`). */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create table sole_claims (only_one bool primary key default true check (only_one), claimant text not null)`
})
