/** Which host of a fleet has the archive of an image. */
import { Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { databaseNow } from "./databaseNow.ts"

/** A service that was killed while it received left a row without an image. */
const uselessAfterMs = 86_400_000
const forgetBatch = 16

export const archivesOnHosts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ hostId: Schema.String }),
    execute: (imageId) => sql`select host_id as "hostId" from image_uploads where image_id = ${imageId}`
  })
  return {
    /** Null: no host was given one. */
    hostOf: (imageId: string) =>
      Effect.map(Effect.orDie(find(imageId)), (found) => Option.getOrNull(found)?.hostId ?? null),
    /** Before the first byte travels. */
    begin: (imageId: string, hostId: string) =>
      sql`
        insert into image_uploads (image_id, host_id, made_at) values (${imageId}, ${hostId}, ${databaseNow(sql)})
        on conflict (image_id) do update set host_id = excluded.host_id, made_at = excluded.made_at`.pipe(
        Effect.andThen(sql`
          delete from image_uploads where image_id in (
            select u.image_id from image_uploads u where u.made_at < ${databaseNow(sql)} - ${BigInt(uselessAfterMs)}::int8
              and not exists (select 1 from actors a where a.id = u.image_id) limit ${forgetBatch})`),
        Effect.orDie,
        Effect.asVoid
      ),
    forget: (imageId: string) => Effect.asVoid(Effect.orDie(sql`delete from image_uploads where image_id = ${imageId}`))
  }
})

export type ArchivesOnHosts = Effect.Success<typeof archivesOnHosts>
