import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Each test has new hosts, Sandboxes and images. */
export const fresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`delete from host_promises`
  yield* sql`delete from host_images`
  yield* sql`delete from image_uploads`
  yield* sql`delete from hosts`
  yield* sql`delete from actors where kind in ('host', 'sandbox', 'image')`
})
