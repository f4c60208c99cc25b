/**
 * Deletes Sandboxes that were deleted long ago, each with everything that belongs to it, once all its costs are posted. Its snapshots outlive it.
 */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Ledger } from "../../wallet/Ledger.ts"
import type { ForgetActors } from "./forgetActors.ts"
import { keepCounts } from "./removal.ts"

/** @param deletedCutoff Epoch milliseconds: a Sandbox deleted earlier goes. */
export const deletedSandboxes = Effect.fnUntraced(function* (
  { forgetChunks, forgetThings, forgetAll }: ForgetActors,
  deletedCutoff: bigint
) {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const findDead = SqlSchema.findAll({
    Request: Schema.BigInt,
    Result: Schema.Struct({ id: Schema.String }),
    execute: (cutoff) => sql`
      select id from actors where kind = 'sandbox' and ended_at is not null and ended_at < ${cutoff} order by ended_at limit 100`
  })
  return Effect.gen(function* () {
    let total = 0
    for (const { id } of yield* findDead(deletedCutoff)) {
      // Its costs stay in the ledger, which reads them from its transitions.
      const isPosted = yield* ledger.foldSandbox(id).pipe(
        Effect.map((folded) => folded === null || folded.isClosed),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logWarning(`${id} is past its retention, but its costs could not be posted`, defect), false)
        )
      )
      if (!isPosted) continue
      total += yield* forgetChunks("sandbox_id = $1", [id])
      total += yield* forgetAll("sandbox_id = $1 and kind not in ('sandbox', 'snapshot')", [id])
      yield* sql`delete from outputs where sandbox_id = ${id}`
      yield* sql`delete from output_totals where sandbox_id = ${id}`
      yield* sql`delete from telemetry_samples where sandbox_id = ${id}`
      yield* sql.unsafe(
        `with gone as (delete from executions where sandbox_id = $1 returning account_id, started_at as at)
         ${keepCounts("executes", "select account_id, at from gone")}`,
        [id]
      )
      total += yield* forgetThings([id])
    }
    return total
  })
})
