/**
 * Uploaded images in a fleet: which host has the archive of an image that is being made. A row is stored before the first byte travels, and stays until
 * the archive is discarded. `noted_at`: when a service noted that the host has the image, by the database's clock in epoch milliseconds, so that an
 * inventory of a moment before does not undo it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table image_uploads (
      image_id text primary key,
      host_id text not null,
      made_at bigint not null
    )`
  yield* sql`alter table host_images add column noted_at bigint not null default 0`
})
