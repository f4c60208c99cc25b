/** Which hosts of a fleet run images, and which images each has. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "../store/Columns.ts"
import { databaseNow } from "./databaseNow.ts"
import { placeableStates, removedHostStates } from "./hostStates.ts"

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

  const replace = (hostId: string, digests: ReadonlyArray<string>) => sql`
    with found as (select distinct unnest(${textColumn(digests)}::text[]) as digest),
    gone as (
      delete from host_images where host_id = ${hostId} and digest not in (select digest from found)
        and noted_at < ${databaseNow(sql)} - ${BigInt(recentMs)}::int8)
    insert into host_images (host_id, digest) select ${hostId}::text, digest from found on conflict do nothing`

  const done = (effect: Effect.Effect<unknown, unknown>): Effect.Effect<void> => Effect.asVoid(Effect.orDie(effect))
  return {
    /** All hosts but removed ones, in a random order; those that have the image come first. */
    hosts: (digest: string | null) => Effect.orDie(findHosts(digest)),
    /** A few hosts that may take an archive. */
    receivers: Effect.map(Effect.orDie(findRoomiest), (rows) => rows.map(({ id }) => id)),
    /** Those that have it, in a random order. */
    sources: (digest: string) => Effect.map(Effect.orDie(findSources(digest)), (rows) => rows.map(({ id }) => id)),
    has: (hostId: string, digest: string) =>
      Effect.map(Effect.orDie(findHere(hostId, digest)), (rows) => rows.length > 0),
    note: (hostId: string, digest: string) => done(note(hostId, digest)),
    forget: (hostId: string, digest: string) => done(forget(hostId, digest)),
    forgetAll: (hostId: string) => done(sql`delete from host_images where host_id = ${hostId}`),
    /** The host has these and no others, but those that were noted a moment ago: they may have come after it listed these. */
    replace: (hostId: string, digests: ReadonlyArray<string>) => done(replace(hostId, digests))
  }
})

export type ImagesOnHosts = Effect.Success<typeof imagesOnHosts>
