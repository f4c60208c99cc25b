/** Statements about the places of a fleet's snapshots: the host in the snapshot's own context, and those of its copies. */
import { Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { absentStates, emptiedStates, removedHostStates } from "./hostStates.ts"
import { leavingSnapshots } from "./snapshotsOnlyHere.ts"

const Places = Schema.Struct({
  /** That of its Sandbox, or the one that took its file; null: none yet. */
  hostId: Schema.NullOr(Schema.String),
  kind: Schema.Literals(["vm", "namespace"]),
  /** It has memory, which is on that host only. */
  isBound: Schema.Boolean,
  /** Hosts with a whole copy. */
  copies: Schema.Array(Schema.String)
})
export type SnapshotPlaces = typeof Places.Type

/** Longer than a host may take to list its images. */
const recentMs = 60_000

export const snapshotCopyStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const findPlaces = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Places,
    execute: (snapshotId) => sql`
      select ${sql.literal(fieldOf("a", "hostId", "text"))} as "hostId", coalesce(${sql.literal(fieldOf("a", "runtime", "text"))}, 'namespace') as kind,
        coalesce(${sql.literal(fieldOf("a", "memory", "text"))}, 'false') = 'true' as "isBound",
        array(
          select c.host_id from snapshot_copies c where c.snapshot_id = a.id and c.made_at is not null and not exists (
            select 1 from actors h where h.id = c.host_id and h.kind = 'host' and h.status = any(${textColumn(removedHostStates)}::text[]))
            and c.host_id is distinct from ${sql.literal(fieldOf("a", "hostId", "text"))}
          order by c.made_at) as copies
      from actors a where a.id = ${snapshotId} and a.kind = 'snapshot'`
  })

  /** A host that is neither drained nor lost comes first. */
  const findPromoted = SqlSchema.findOneOption({
    Request: Schema.Struct({ snapshotId: Schema.String, hostId: Schema.String }),
    Result: Schema.Struct({ id: Schema.String }),
    execute: ({ snapshotId, hostId }) => sql`
      select h.id from snapshot_copies c
        join actors a on a.id = c.snapshot_id and coalesce(${sql.literal(fieldOf("a", "memory", "text"))}, 'false') = 'false'
        join actors h on h.id = c.host_id and h.kind = 'host' and h.status <> all(${textColumn(removedHostStates)}::text[])
      where c.snapshot_id = ${snapshotId} and c.host_id <> ${hostId} and c.made_at is not null
      order by h.status = any(${textColumn([...absentStates, ...emptiedStates])}::text[]), c.made_at limit 1`
  })

  return {
    /** Those that only this host has, and that can be copied. */
    leaving: leavingSnapshots(sql),
    /** The host whose copy takes the place of that on `hostId`; null: there is none. */
    promoted: (snapshotId: string, hostId: string) =>
      Effect.map(Effect.orDie(findPromoted({ snapshotId, hostId })), (found) => Option.getOrNull(found)?.id ?? null),
    /** Null: there is no such snapshot. */
    places: (snapshotId: string) => Effect.map(Effect.orDie(findPlaces(snapshotId)), Option.getOrNull),
    /** Before the first byte travels. */
    begin: (snapshotId: string, hostId: string) =>
      Effect.asVoid(
        Effect.orDie(sql`
          insert into snapshot_copies (snapshot_id, host_id) values (${snapshotId}, ${hostId}) on conflict do nothing`)
      ),
    /** False: the snapshot was deleted meanwhile. */
    complete: (snapshotId: string, hostId: string) =>
      Effect.map(
        Effect.orDie(sql`
          update snapshot_copies set made_at = (extract(epoch from clock_timestamp()) * 1000)::bigint
          where snapshot_id = ${snapshotId} and host_id = ${hostId} returning 1`),
        (rows) => rows.length > 0
      ),
    /** All hosts that may have something of a copy. */
    begun: (snapshotId: string) =>
      Effect.map(
        Effect.orDie(
          sql<{
            readonly hostId: string
          }>`select host_id as "hostId" from snapshot_copies where snapshot_id = ${snapshotId}`
        ),
        (rows) => rows.map(({ hostId }) => hostId)
      ),
    /** Forgets whole copies that the host did not list. A copy that was made a moment ago may have come after that list. */
    keepOnly: (hostId: string, listed: ReadonlyArray<string>) =>
      Effect.asVoid(
        Effect.orDie(sql`
          delete from snapshot_copies where host_id = ${hostId} and snapshot_id <> all(${textColumn(listed)}::text[])
            and made_at < (extract(epoch from clock_timestamp()) * 1000)::bigint - ${BigInt(recentMs)}::int8`)
      ),
    forget: (snapshotId: string, hostId: string) =>
      Effect.asVoid(
        Effect.orDie(sql`delete from snapshot_copies where snapshot_id = ${snapshotId} and host_id = ${hostId}`)
      )
  }
})
