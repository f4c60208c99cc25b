/** Uploaded images that are lost with their host: no registry has them, and no other host of the fleet. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { usableImageStates } from "../image/imageStates.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { removedHostStates } from "./hostStates.ts"

export const imagesLostWith = (sql: SqlClient.SqlClient) => {
  const countImages = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ count: Schema.Int }),
    execute: (hostId) => sql`
      select count(*)::int4 as count from actors a join host_images i on i.digest = ${sql.literal(fieldOf("a", "digest", "text"))}
      where i.host_id = ${hostId} and a.kind = 'image' and a.ended_at is null and a.status = any(${textColumn(usableImageStates)}::text[])
        and ${sql.literal(fieldOf("a", "reference", "text"))} is null
        and not exists (
          select 1 from host_images o where o.digest = i.digest and o.host_id <> i.host_id and not exists (
            select 1 from actors h where h.id = o.host_id and h.kind = 'host' and h.status = any(${textColumn(removedHostStates)}::text[])))`
  })
  return (hostId: string) => Effect.map(Effect.orDie(countImages(hostId)), ({ count }) => count)
}
