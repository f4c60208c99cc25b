/** Which hosts of a fleet run images, and which images each has. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "../store/Columns.ts"
import { placeableStates, removedHostStates } from "./hostStates.ts"

const Able = Schema.Struct({
  id: Schema.String,
  /** It takes new Sandboxes now. */
  isReady: Schema.Boolean,
  runsImages: Schema.Boolean
})

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

  const note = (hostId: string, digest: string) =>
    sql`insert into host_images (host_id, digest) values (${hostId}, ${digest}) on conflict do nothing`

  const forget = (hostId: string, digest: string) =>
    sql`delete from host_images where host_id = ${hostId} and digest = ${digest}`

  const replace = (hostId: string, digests: ReadonlyArray<string>) => sql`
    with found as (select distinct unnest(${textColumn(digests)}::text[]) as digest),
    gone as (delete from host_images where host_id = ${hostId} and digest not in (select digest from found))
    insert into host_images (host_id, digest) select ${hostId}::text, digest from found on conflict do nothing`

  const done = (effect: Effect.Effect<unknown, unknown>): Effect.Effect<void> => Effect.asVoid(Effect.orDie(effect))
  return {
    /** All hosts but removed ones, in a random order; those that have the image come first. */
    hosts: (digest: string | null) => Effect.orDie(findHosts(digest)),
    note: (hostId: string, digest: string) => done(note(hostId, digest)),
    forget: (hostId: string, digest: string) => done(forget(hostId, digest)),
    /** The host has these and no others. */
    replace: (hostId: string, digests: ReadonlyArray<string>) => done(replace(hostId, digests))
  }
})

export type ImagesOnHosts = Effect.Success<typeof imagesOnHosts>
