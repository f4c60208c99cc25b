/**
 * Uploaded images that are lost with a host: no registry has them, and no other host, except hosts that are drained, lost or removed themselves. An image that
 * failed with its lost host is one of them, because it is ready again with that host. So is one that is still to be made of an archive there.
 */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema, type Statement } from "effect/sql"
import { archivedImageStates, usableImageStates } from "../image/imageStates.ts"
import { UploadedImage } from "../image/uploadedImages.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { absentStates, emptiedStates } from "./hostStates.ts"

/** `i`: the host's rows; `m`: their images. @param hostId An expression; it may name the relations `h` and `a` outside. @param others States in which another host does not count. */
const onlyOn = (sql: SqlClient.SqlClient, hostId: Statement.Fragment, others: ReadonlyArray<string>) => sql`
  host_images i join actors m on m.kind = 'image' and m.ended_at is null and ${sql.literal(fieldOf("m", "digest", "text"))} = i.digest
    and ${sql.literal(fieldOf("m", "reference", "text"))} is null
  where i.host_id = ${hostId} and not exists (
    select 1 from host_images place
      join actors other on other.id = place.host_id and other.kind = 'host' and other.status <> all(${textColumn(others)}::text[])
    where place.digest = i.digest and place.host_id <> i.host_id)`

const leftStates = [...absentStates, ...emptiedStates]

/** How many: `images`. */
export const countImagesOnlyOn = (sql: SqlClient.SqlClient, hostId: Statement.Fragment) => sql`
  select (select count(*) from ${onlyOn(sql, hostId, leftStates)})::int4 + (
    select count(*) from image_uploads u join actors m on m.id = u.image_id and m.kind = 'image' and m.ended_at is null
      and m.status = any(${textColumn(archivedImageStates)}::text[])
    where u.host_id = ${hostId})::int4 as images`

const LeavingImage = Schema.Struct({ digest: Schema.String })
export type LeavingImage = typeof LeavingImage.Type

/** Those that can be copied: the next ones after `after`. */
export const leavingImages = (sql: SqlClient.SqlClient) => {
  const find = SqlSchema.findAll({
    Request: Schema.Struct({ hostId: Schema.String, after: Schema.String, limit: Schema.Int }),
    Result: LeavingImage,
    execute: ({ hostId, after, limit }) => sql`
      select distinct i.digest from ${onlyOn(sql, sql`${hostId}::text`, leftStates)} and i.digest > ${after}
      order by i.digest limit ${limit}`
  })
  return (hostId: string, after: LeavingImage | null, limit: number) =>
    Effect.orDie(find({ hostId, after: after?.digest ?? "", limit }))
}

/** Images of which Sandboxes can be made, and that no other host has that is not lost or removed. */
export const imagesLostWith = (sql: SqlClient.SqlClient) => {
  const find = SqlSchema.findAll({
    Request: Schema.Struct({ hostId: Schema.String, digests: Schema.NullOr(Schema.Array(Schema.String)) }),
    Result: UploadedImage,
    execute: ({ hostId, digests }) => sql`
      select m.id, i.digest, m.revision from ${onlyOn(sql, sql`${hostId}::text`, absentStates)}
        and m.status = any(${textColumn(usableImageStates)}::text[])
        and (${digests === null}::bool or i.digest = any(${textColumn(digests ?? [])}::text[]))`
  })
  /** @param digests What the host does not have any more; null: all that it had. */
  return (hostId: string, digests: ReadonlyArray<string> | null) => Effect.orDie(find({ hostId, digests }))
}
