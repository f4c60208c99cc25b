/**
 * The snapshots that are lost with a host: no other host has a copy, except hosts that are drained, lost or removed themselves. One with memory is
 * bound to its host, because a copy has the volume only.
 */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema, type Statement } from "effect/sql"
import { usableSnapshotStates } from "../snapshot/snapshotStates.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { absentStates, emptiedStates } from "./hostStates.ts"

const isBound = `coalesce(${fieldOf("s", "memory", "text")}, 'false') = 'true'`

/** `s`: their rows. @param hostId An expression; it may name the relations `h` and `a` outside. */
const onlyOn = (sql: SqlClient.SqlClient, hostId: Statement.Fragment) => sql`
  actors s
  where s.kind = 'snapshot' and s.ended_at is null and s.status = any(${textColumn(usableSnapshotStates)}::text[])
    and s.id in (
      select own.id from actors own
      where own.kind = 'snapshot' and own.ended_at is null and ${sql.literal(fieldOf("own", "hostId", "text"))} = ${hostId}
      union all
      select copy.snapshot_id from snapshot_copies copy where copy.host_id = ${hostId} and copy.made_at is not null)
    and case when ${sql.literal(isBound)} then ${sql.literal(fieldOf("s", "hostId", "text"))} = ${hostId} else not exists (
      select 1 from (
        select ${sql.literal(fieldOf("s", "hostId", "text"))} as id
        union all
        select copy.host_id from snapshot_copies copy where copy.snapshot_id = s.id and copy.made_at is not null) place
      join actors other on other.id = place.id and other.kind = 'host'
        and other.status <> all(${textColumn([...absentStates, ...emptiedStates])}::text[])
      where place.id <> ${hostId}) end`

/** How many: `only_here`, and of these `bound`. */
export const countOnlyOn = (sql: SqlClient.SqlClient, hostId: Statement.Fragment) => sql`
  select count(*)::int4 as only_here, (count(*) filter (where ${sql.literal(isBound)}))::int4 as bound from ${onlyOn(sql, hostId)}`

const LeavingSnapshot = Schema.Struct({
  id: Schema.String,
  createdAt: Int8,
  kind: Schema.Literals(["vm", "namespace"]),
  /** Of its volume. */
  sizeBytes: Int8
})
export type LeavingSnapshot = typeof LeavingSnapshot.Type

/** Those that can be copied, oldest first: the next ones after `after`. */
export const leavingSnapshots = (sql: SqlClient.SqlClient) => {
  const find = SqlSchema.findAll({
    Request: Schema.Struct({ hostId: Schema.String, createdAt: Schema.Int, id: Schema.String, limit: Schema.Int }),
    Result: LeavingSnapshot,
    execute: ({ hostId, createdAt, id, limit }) => sql`
      select s.id, s.created_at as "createdAt", ${sql.literal(fieldOf("s", "runtime", "text"))} as kind,
        coalesce(${sql.literal(fieldOf("s", "sizeBytes", "int8"))}, 0) as "sizeBytes"
      from ${onlyOn(sql, sql`${hostId}::text`)} and not ${sql.literal(isBound)}
        and (s.created_at, s.id) > (${BigInt(createdAt)}::int8, ${id}::text)
      order by s.created_at, s.id limit ${limit}`
  })
  return (hostId: string, after: Pick<LeavingSnapshot, "createdAt" | "id"> | null, limit: number) =>
    Effect.orDie(find({ hostId, createdAt: after?.createdAt ?? 0, id: after?.id ?? "", limit }))
}
