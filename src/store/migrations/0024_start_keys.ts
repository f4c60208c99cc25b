/**
 * Start keys are taken by the commit of their START from now on. Until now their row came first; one without an answer says of a
 * START that perhaps never was, and would keep it from ever coming.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`delete from idempotency_keys where starts_with(kind, 'sandbox.start:') and response is null`
})
