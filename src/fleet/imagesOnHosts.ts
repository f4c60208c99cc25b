/** Which hosts of a fleet run images, and which images each has. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { UploadedImage } from "../image/uploadedImages.ts"
import { textColumn } from "../store/Columns.ts"
import { databaseNow } from "./databaseNow.ts"
import { placeableStates, removedHostStates } from "./hostStates.ts"
import { imagesLostWith, leavingImages } from "./imagesOnlyHere.ts"

const Able = Schema.Struct({
  id: Schema.String,
  /** It takes new Sandboxes now. */
  isReady: Schema.Boolean,
  runsImages: Schema.Boolean
})

const receiversMax = 8
/** Longer than a host may take to list its images. */
const recentMs = 60_000

export const imagesOnHosts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const findHosts = SqlSchema.findAll({
    Request: Schema.NullOr(Schema.String),
    Result: Able,
    execute: (digest) => sql`
      select h.id, coalesce(a.status = any(${textColumn(placeableStates)}::text[]), false) as "isReady", h.runs_images as "runsImages"
      from hosts h left join actors a on a.id = h.id and a.kind = 'host'
      where coalesce(a.status <> all(${textColumn(removedHostStates)}::text[]), true)
      order by exists (select 1 from host_images i where i.host_id = h.id and i.digest = ${digest}::text) desc, random()`
  })

  /** The emptiest first. */
  const findRoomiest = sql<{ readonly id: string }>`
      select h.id from hosts h join actors a on a.id = h.id and a.kind = 'host'
      where h.runs_images and a.status = any(${textColumn(placeableStates)}::text[])
      order by h.disk_bytes - h.disk_promised desc, h.id limit ${receiversMax}`

  const findSources = (digest: string) => sql<{ readonly id: string }>`
      select i.host_id as id from host_images i where i.digest = ${digest}
        and not exists (select 1 from actors a where a.id = i.host_id and a.kind = 'host' and a.status = any(${textColumn(removedHostStates)}::text[]))
      order by random()`

  const findHere = (hostId: string, digest: string) =>
    sql`select 1 from host_images where host_id = ${hostId} and digest = ${digest}`

  const note = (hostId: string, digest: string) => sql`
    insert into host_images (host_id, digest, noted_at) values (${hostId}, ${digest}, ${databaseNow(sql)})
    on conflict (host_id, digest) do update set noted_at = excluded.noted_at`

  const forget = (hostId: string, digest: string) =>
    sql`delete from host_images where host_id = ${hostId} and digest = ${digest}`

  const isOld = sql`noted_at < ${databaseNow(sql)} - ${BigInt(recentMs)}::int8`

  const findUnlisted = (hostId: string, listed: ReadonlyArray<string>) => sql<{ readonly digest: string }>`
    select digest from host_images where host_id = ${hostId} and digest <> all(${textColumn(listed)}::text[]) and ${isOld}`

  const change = (hostId: string, listed: ReadonlyArray<string>, gone: ReadonlyArray<string>) => sql`
    with gone as (
      delete from host_images where host_id = ${hostId} and digest = any(${textColumn(gone)}::text[]) and ${isOld})
    insert into host_images (host_id, digest) select distinct ${hostId}::text, unnest(${textColumn(listed)}::text[]) on conflict do nothing`

  const lostWith = imagesLostWith(sql)

  const done = (effect: Effect.Effect<unknown, unknown>): Effect.Effect<void> => Effect.asVoid(Effect.orDie(effect))
  return {
    /** All hosts but removed ones, in a random order; those that have the image come first. */
    hosts: (digest: string | null) => Effect.orDie(findHosts(digest)),
    /** Uploaded images that only this host has. */
    leaving: leavingImages(sql),
    lostWith,
    /** A few hosts that may take an archive or an image, the emptiest first. */
    receivers: Effect.map(Effect.orDie(findRoomiest), (rows) => rows.map(({ id }) => id)),
    /** Those that have it, in a random order. */
    sources: (digest: string) => Effect.map(Effect.orDie(findSources(digest)), (rows) => rows.map(({ id }) => id)),
    has: (hostId: string, digest: string) =>
      Effect.map(Effect.orDie(findHere(hostId, digest)), (rows) => rows.length > 0),
    note: (hostId: string, digest: string) => done(note(hostId, digest)),
    forget: (hostId: string, digest: string) => done(forget(hostId, digest)),
    forgetAll: (hostId: string) => done(sql`delete from host_images where host_id = ${hostId}`),
    /**
     * The host has these and no others, but those that were noted a moment ago: they may have come after it listed these.
     * @param tellLost Of the others, the uploaded images that no other host has. Their rows go only afterwards: a loss is found by them.
     */
    replace: Effect.fnUntraced(function* <E>(
      hostId: string,
      digests: ReadonlyArray<string>,
      tellLost: (images: ReadonlyArray<UploadedImage>) => Effect.Effect<void, E>
    ) {
      const gone = (yield* Effect.orDie(findUnlisted(hostId, digests))).map(({ digest }) => digest)
      if (gone.length > 0) yield* tellLost(yield* lostWith(hostId, gone))
      yield* Effect.orDie(change(hostId, digests, gone))
    })
  }
})

export type ImagesOnHosts = Effect.Success<typeof imagesOnHosts>
