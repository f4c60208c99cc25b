/**
 * Ages that the pruner asks for every minute: it finds what is due without reading what is not.
 *
 * The key of a start belongs to no new row with which it could be deleted, so it is deleted by its age.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index executions_age on executions (finished_at)`
  yield* sql`drop index telemetry_samples_age`
  yield* sql`create index telemetry_samples_age on telemetry_samples (at)`
  yield* sql`create index idempotency_keys_starts on idempotency_keys (created_at) where kind like 'sandbox.start:%'`
})
