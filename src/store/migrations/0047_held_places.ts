/**
 * How many places of what is bounded over all processes of a cluster each of them has for its clients; they go with it when it ends, or is removed
 * because it renewed its lease too late.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table held_places (
      subject text not null,
      process_id text not null references cluster_processes on delete cascade,
      places int4 not null check (places > 0),
      primary key (subject, process_id)
    )`
  yield* sql`create index held_places_process on held_places (process_id)`
})
