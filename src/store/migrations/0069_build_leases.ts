/**
 * Sandboxes of builds whose images are not stored yet. A row comes with its Sandbox and goes with the insert of its image, or with the deletion of the
 * Sandbox. `holder` is the process that makes the image, and `lease_until` is when it must have renewed the row. `is_ending`: the build was given up, so
 * its image is refused.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table build_leases (
      sandbox_id text primary key,
      account_id text not null,
      image_id text not null,
      holder text not null,
      lease_until timestamptz not null,
      is_ending boolean not null default false
    )`
})
