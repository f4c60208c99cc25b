/**
 * Copies of a fleet's snapshots on further hosts: a row is stored before the first byte travels, so that a deletion finds what may be there. `made_at`
 * is set once the copy is whole, by the database's clock in epoch milliseconds.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table snapshot_copies (
      snapshot_id text not null,
      host_id text not null,
      made_at bigint,
      primary key (snapshot_id, host_id)
    )`
  yield* sql`create index snapshot_copies_host on snapshot_copies (host_id)`
})
