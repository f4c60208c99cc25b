/**
 * When the service last listened to the machines of its host (epoch milliseconds; 0: never): one that is found dead at a later start was alive
 * then, as far as anybody knows. Written only while one runs, which the index tells.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create table heartbeat (at bigint not null) with (fillfactor = 20)`
  yield* sql`insert into heartbeat values (0)`
  yield* sql`create index meters_running on meters (sandbox_id) where is_running`
})
