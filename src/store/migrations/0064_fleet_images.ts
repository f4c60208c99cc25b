/**
 * Images in a fleet: which hosts run any, and which images each has. A service of an older version that a host joins through leaves `runs_images` as it
 * was. The rows of `host_images` may be late: each comparison with a host's inventory corrects them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table hosts add column runs_images boolean not null default false`
  yield* sql`
    create table host_images (
      host_id text not null,
      digest text not null,
      primary key (host_id, digest)
    )`
  yield* sql`create index host_images_digest on host_images (digest)`
})
