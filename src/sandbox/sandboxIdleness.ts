/** Whether a Sandbox was used lately: the sleep and the stop after idleness depend on it. */
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { sandboxMachine } from "../../machines/sandbox.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { publicText } from "../../schemas/PublicText.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { Int8 } from "../store/Columns.ts"
import { failureReason } from "./failureReason.ts"
import { Placement } from "./Placement.ts"
import { SandboxUse } from "./SandboxUse.ts"

type SandboxEvent = EventOf<typeof sandboxMachine>

const suspendFailed = publicText`The Sandbox could not be put to sleep, and runs on.`
const cannotSuspend = publicText`Sandboxes of this host cannot sleep.`

/** Uses of Sandboxes, including operations that run in them. */
const sandboxUses = Effect.gen(function* () {
  const uses = yield* SandboxUse
  const sql = yield* SqlClient.SqlClient

  /** True while an operation runs or is being ended: it keeps its Sandbox awake. */
  const hasOperations = (sandboxId: string) =>
    sql`select 1 from actors where sandbox_id = ${sandboxId} and kind = 'operation' and pending <> '[]'::jsonb limit 1`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.length > 0)
    )

  /** The earliest instant at which it may have been idle for long enough. */
  const idleAt = Effect.fnUntraced(function* (context: SandboxContext, sleepAfterMs: number) {
    const used = (yield* hasOperations(context.sandboxId))
      ? yield* Clock.currentTimeMillis
      : Math.max(yield* uses.latest(context.sandboxId), uses.since, context.startedAt ?? 0)
    return Math.ceil(used + sleepAfterMs)
  })

  const findLastEnd = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ ended_at: Schema.NullOr(Int8) }),
    execute: (sandboxId) => sql`
      select max(ended_at) as ended_at from actors
      where sandbox_id = ${sandboxId} and kind = 'operation' and duration_ms is not null`
  })

  /** Epoch milliseconds of the last use; now while one continues, and never before the start. Where uses may be unknown, it assumes one. */
  const lastUse = Effect.fnUntraced(function* ({ sandboxId, startedAt }: SandboxContext) {
    if (yield* hasOperations(sandboxId)) return yield* Clock.currentTimeMillis
    const { ended_at } = yield* Effect.orDie(findLastEnd(sandboxId))
    return Math.max((yield* uses.latest(sandboxId)) + uses.lateByMs, uses.since, startedAt ?? 0, ended_at ?? 0)
  })

  return { hasOperations, idleAt, lastUse }
})

export const sandboxIdleness = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement
  const uses = yield* SandboxUse
  const { hasOperations, idleAt, lastUse } = yield* sandboxUses

  const lookAtUse = Effect.fnUntraced(function* (context: SandboxContext) {
    if (uses.sleepAfterMs === null || !(yield* placement.suspends(context.sandboxId))) return null
    const until = yield* idleAt(context, uses.sleepAfterMs)
    return (yield* Clock.currentTimeMillis) < until ? { type: "IN_USE" as const, until } : { type: "SLEEP" as const }
  })

  const lookAtIdleness = Effect.fnUntraced(function* (context: SandboxContext, idleStopAt: number | null) {
    const allowed = context.lifetime?.stopAfterIdleSeconds ?? null
    if (allowed === null || idleStopAt === null) return null
    const usedAt = yield* lastUse(context)
    return (yield* Clock.currentTimeMillis) < usedAt + allowed * 1000
      ? { type: "WAS_USED" as const, idleStopAt, usedAt }
      : { type: "WAS_IDLE" as const, idleStopAt }
  })

  const suspendRuntime = (context: SandboxContext, generation: number) => {
    const { sandboxId } = context
    // A Sandbox whose use began before its sleep was visible must not be frozen.
    const isUsed = Effect.flatMap(hasOperations(sandboxId), (has) =>
      has ? Effect.succeed(true) : Effect.map(uses.latest(sandboxId), (at) => at >= context.updatedAt)
    )
    const suspend = runtime.suspend(sandboxId, generation)
    return Effect.flatMap(uses.sleepAfterMs === null ? Effect.succeed(false) : isUsed, (used) =>
      used ? Effect.fail(RuntimeUnavailable.known(publicText`The Sandbox is used again.`)) : suspend
    ).pipe(
      Effect.matchEffect({
        onSuccess: () => Effect.succeed(null),
        onFailure: (error) =>
          Effect.map(
            error._tag === "RuntimeUnavailable"
              ? failureReason("SUSPEND_FAILED", sandboxId, suspendFailed, error)
              : Effect.succeed({ code: "SUSPEND_FAILED", message: cannotSuspend }),
            (reason): SandboxEvent => ({ type: "SUSPEND_FAILED", generation, reason })
          )
      })
    )
  }

  return { lookAtUse, lookAtIdleness, suspendRuntime }
})
