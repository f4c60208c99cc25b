/**
 * Which snapshot each Sandbox was made of. The Sandbox's context says the same; this table finds it from the other side: the children of a Sandbox, and
 * the first boots that still need an image. The index has the snapshots that are not deleted: they are counted at each create.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table sandbox_origins (
      sandbox_id text primary key,
      snapshot_id text not null,
      source_id text not null,
      created_at bigint not null
    )`
  yield* sql`create index sandbox_origins_snapshot on sandbox_origins (snapshot_id)`
  yield* sql`create index sandbox_origins_source on sandbox_origins (source_id, created_at desc, sandbox_id desc)`
  yield* sql`create index actors_snapshots on actors (account_id) where kind = 'snapshot' and ended_at is null`
})
