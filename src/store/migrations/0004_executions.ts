/** Synchronous executes that have ended: what analytics count. Times are epoch milliseconds by the service's clock. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table executions (
      id text primary key,
      account_id text not null,
      sandbox_id text not null,
      generation integer not null,
      started_at bigint not null,
      finished_at bigint not null,
      exit_code integer,
      timed_out boolean not null
    )`
  yield* sql`create index executions_sandbox on executions (sandbox_id, finished_at)`
})
