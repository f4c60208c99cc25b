/**
 * Deletes rows past their retention in small batches, so that no statement holds the tables for long. Each query uses an index over ages: a pass
 * reads what is due, not what is kept.
 *
 * Output streams that another statement uses are left for the next pass. Deleted Sandboxes go with everything that belongs to them.
 *
 * A deleted Sandbox goes only after all its costs are posted.
 *
 * @source contract-details.md "A deleted Sandbox stays listed and inspectable", "Keys live as long as the thing that they made"
 */
import { Cause, Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../../Config.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { Int8 } from "../../store/Columns.ts"
import { outputRoom } from "../../store/OutputRoom.ts"
import { Ledger } from "../../wallet/Ledger.ts"
import { deletedSandboxes } from "./deletedSandboxes.ts"
import { forgetActors } from "./forgetActors.ts"
import { oldRecords } from "./oldRecords.ts"
import type { Removed } from "./removal.ts"

const dayMs = 24 * 60 * 60 * 1000

const parts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { retentionDays, endedRetentionDays, logBytesPerSandbox } = yield* Settings
  const now = yield* Clock.currentTimeMillis
  const cutoff = BigInt(now - retentionDays * dayMs)
  // Its idempotency key lives for at least a day.
  const deletedCutoff = BigInt(now - Math.max(retentionDays, 1) * dayMs)
  // The content of a deleted Sandbox is kept as long as the Sandbox.
  const endedCutoff = BigInt(now - Math.max(endedRetentionDays, retentionDays) * dayMs)
  const room = outputRoom(sql, sql)
  const forget = forgetActors(sql, room)
  const { samples, executions, startKeys } = oldRecords(sql, cutoff, endedCutoff)

  // The writer of output already trims what exceeds a Sandbox's share. The rest here is from a process that was killed before it did, or from a
  // larger share in earlier settings.
  const findLarge = SqlSchema.findAll({
    Request: Int8,
    Result: Schema.Struct({ sandbox_id: Schema.String, stored_bytes: Int8 }),
    execute: (over) => sql`select sandbox_id, stored_bytes from output_totals where stored_bytes > ${over}`
  })
  const largeSandboxes = Effect.gen(function* () {
    let total = 0
    for (const { sandbox_id, stored_bytes } of yield* findLarge(logBytesPerSandbox)) {
      total += yield* room.cut(sandbox_id, stored_bytes, logBytesPerSandbox)
    }
    return total
  })

  /** Ended actors of a Sandbox that still exists. An actor with pending work is not done. The record of a host that was given up is kept for ever. */
  const endedThings = forget.forgetAll(
    "kind not in ('sandbox', 'host') and ended_at is not null and ended_at < $1 and pending = '[]'::jsonb and due_at is null order by ended_at",
    [endedCutoff]
  )

  return {
    "old output": forget.forgetChunks("at < $1", [cutoff]),
    "output beyond a Sandbox's share": largeSandboxes,
    "old samples": samples,
    "old executes": executions,
    "actors that ended long ago": endedThings,
    "old idempotency keys of starts": startKeys,
    "Sandboxes that were deleted long ago": yield* deletedSandboxes(forget, deletedCutoff),
    "free space of removed output": Effect.as(room.vacuum, 0)
  } satisfies Record<string, Removed>
})

/** One pass: deletes everything that is due, in batches. Returns the number of deleted rows. A failure in one part does not stop the others. */
export const prune = Effect.fn("Pruner.prune")(function* () {
  let total = 0
  const due: Readonly<Record<string, Removed>> = yield* parts
  for (const [what, part] of Object.entries(due)) {
    total += yield* part.pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterrupts(cause)
          ? Effect.failCause(cause)
          : Effect.as(Effect.logWarning(`Could not remove what is past its retention: ${what}`, cause), 0)
      )
    )
  }
  return total
})

export const Pruner = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { pruneIntervalMs } = yield* Settings
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const ledger = yield* Ledger
      const pass = prune().pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.provideService(Ledger, ledger),
        Effect.provideService(Settings, settings),
        Effect.catchCause((cause) => Effect.logWarning("Could not remove everything that is past its retention", cause))
      )
      yield* worker("pruner", pass.pipe(Effect.delay(pruneIntervalMs), Effect.forever))
    })
  )
}
