/** From which Sandboxes a Sandbox comes, and which come from it. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { lineageParentsMax } from "../../schemas/Limits.ts"
import { actorPosition, type ListBinding, openActorCursor, pageOf } from "../lists/Paging.ts"
import { ownSandbox } from "../sandbox/ownSandbox.ts"
import { Actors } from "../store/Actors.ts"
import { Int8 } from "../store/Columns.ts"
import type { Snapshots } from "./Snapshots.ts"

export const sandboxLineage = Effect.gen(function* () {
  const actors = yield* Actors
  const sql = yield* SqlClient.SqlClient

  const findParents = SqlSchema.findAll({
    Request: Schema.String,
    Result: Schema.Struct({ snapshotId: Schema.String, sandboxId: Schema.String }),
    execute: (sandboxId) => sql`
      with recursive back as (
        select snapshot_id, source_id, 1 as step from sandbox_origins where sandbox_id = ${sandboxId}
        union all
        select o.snapshot_id, o.source_id, b.step + 1 from back b join sandbox_origins o on o.sandbox_id = b.source_id
        where b.step < ${lineageParentsMax}::int4
      )
      select snapshot_id as "snapshotId", source_id as "sandboxId" from back order by step`
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
        createdAt: before === null ? 9_223_372_036_854_775_807n : BigInt(before.createdAt),
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
