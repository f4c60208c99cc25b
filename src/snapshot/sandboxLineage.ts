/** From which Sandboxes a Sandbox comes, and which come from it. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { lineageParentsMax } from "../../schemas/Limits.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../lists/Paging.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { Actors } from "../store/Actors.ts"
import { Int8 } from "../store/Columns.ts"
import type { Snapshots } from "./Snapshots.ts"

/** Later than any instant. */
const FOREVER = 9_223_372_036_854_775_807n

export const sandboxLineage = Effect.gen(function* () {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient

  /** From step to step: of which snapshot the volume was a copy when that was taken of it which the step before it is a copy of. */
  const findParents = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ snapshotId: Schema.String, sandboxId: Schema.String }),
    execute: (sandboxId) => sql`
      with recursive back as (
        select null::text as snapshot_id, ${sandboxId}::text as source_id, ${FOREVER}::int8 as until, 0 as step
        union all
        select it.snapshot_id, it.source_id, coalesce((select a.created_at from actors a where a.id = it.snapshot_id), it.created_at), b.step + 1
        from back b cross join lateral (
          (select snapshot_id, source_id, created_at from sandbox_rollbacks
            where sandbox_id = b.source_id and done_at is not null and created_at < b.until order by created_at desc limit 1)
          union all
          (select snapshot_id, source_id, created_at from sandbox_origins where sandbox_id = b.source_id and created_at <= b.until)
          order by created_at desc limit 1
        ) as it
        where b.step < ${lineageParentsMax}::int4
      )
      select snapshot_id as "snapshotId", source_id as "sandboxId" from back where step > 0 and source_id <> '' order by step`
  })

  const findChildren = SqlSchema.findAll({
    Request: Schema.Struct({
      sandboxId: Schema.String,
      createdAt: Schema.BigInt,
      id: Schema.String,
      limit: Schema.Int
    }),
    Result: Schema.Struct({ snapshotId: Schema.String, id: Schema.String, createdAt: Int8 }),
    execute: ({ sandboxId, createdAt, id, limit }) => sql`
      select snapshot_id as "snapshotId", sandbox_id as id, created_at as "createdAt" from sandbox_origins
      where source_id = ${sandboxId} and (created_at, sandbox_id) < (${createdAt}, ${id})
      order by created_at desc, sandbox_id desc limit ${limit}::int4`
  })

  const lineage: Snapshots["Service"]["lineage"] = Effect.fn("Snapshots.lineage")(function* (
    accountId,
    sandboxId,
    { limit, cursor }
  ) {
    yield* ownSandbox(actors, accountId, sandboxId)
    const list: ListBinding = [accountId, "lineage", sandboxId]
    const before = yield* openActorCursor(list, cursor)
    const parents = yield* Effect.orDie(findParents(sandboxId))
    const found = yield* Effect.orDie(
      findChildren({
        sandboxId,
        createdAt: before === null ? FOREVER : BigInt(before.createdAt),
        id: before?.id ?? "",
        limit: limit + 1
      })
    )
    const { entries, nextCursor } = pageOf(list, found, limit, actorPosition)
    return {
      parents,
      children: entries.map(({ snapshotId, id, createdAt }) => ({
        snapshotId,
        sandboxId: id,
        createdAt: new Date(createdAt).toISOString()
      })),
      nextCursor
    }
  })
  return lineage
})
