/** Whether the image of a snapshot is still needed: a deletion waits for that. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { awaitedStates, volumelessStates } from "../sandbox/sandboxStates.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf, jsonFieldOf } from "../store/SnapshotFields.ts"

/** A rollback is stored shortly before its Sandbox is asked. A service that was killed in between never asks it. */
const askedWithinMs = 30_000

export const snapshotNeeds = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rollback = jsonFieldOf("a", "rollback")

  const isForFirstBoot = (snapshotId: string) => sql`
    select 1 from sandbox_origins o join actors a on a.id = o.sandbox_id
    where o.snapshot_id = ${snapshotId} and a.sandbox_status = any(${textColumn(awaitedStates)}::text[])
      and ${sql.literal(fieldOf("a", "startedAt", "text"))} is null limit 1`

  const isForRollback = (snapshotId: string, now: number) => sql`
    select 1 from sandbox_rollbacks r join actors a on a.id = r.sandbox_id
    where r.snapshot_id = ${snapshotId} and r.done_at is null
      and a.sandbox_status <> all(${textColumn(volumelessStates)}::text[])
      and case when ${sql.literal(rollback)} ->> 'rollbackId' = r.rollback_id then ${sql.literal(rollback)} ->> 'outcome' = 'open'
        else r.created_at > ${BigInt(now - askedWithinMs)} end
    limit 1`

  return (snapshotId: string): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [boots, rollbacks] = yield* Effect.all([isForFirstBoot(snapshotId), isForRollback(snapshotId, now)])
      return boots.length + rollbacks.length > 0
    }).pipe(Effect.orDie)
})
