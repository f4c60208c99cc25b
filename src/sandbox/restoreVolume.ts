/** A rollback of a Sandbox that has stopped: its volume is kept as a snapshot, if that was asked for, and then becomes a copy of an earlier one. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { openRollback, type sandboxMachine } from "../../machines/sandbox.ts"
import { snapshotMachine, wasReady } from "../../machines/snapshot.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { committedReason, type PublicReason, type PublicText, publicText } from "../../schemas/PublicText.ts"
import type { ActorState } from "../engine/ActorDefinition.ts"
import type { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { isTagged } from "../engine/taggedStates.ts"
import { Runtime, type RuntimeRefused, type RuntimeUnavailable, type RuntimeUnsupported } from "../runtime/Runtime.ts"
import type { Journal } from "../store/Journal.ts"
import { hostLost, isLost } from "./hostLost.ts"
import { Placement } from "./Placement.ts"
import { untilDone } from "./untilDone.ts"

type SandboxEvent = EventOf<typeof sandboxMachine>

const isAwaited = isTagged(snapshotMachine, "awaited")
const isUsable = isTagged(snapshotMachine, "bootable")

/** A capture may take long; each wait is asked again. */
const lookAgainMs = 60_000

const unsupported = publicText`The host of this Sandbox replaces no volumes.`
const deleted = publicText`The snapshot of the present volume was deleted before it was whole. Nothing was changed.`

/** Why the present volume is not kept; null: it is. */
const lackOf = (kept: ActorState<SnapshotContext> | null): PublicText | null => {
  if (kept === null) return deleted
  const { value, context } = kept
  if (isUsable(value) || wasReady(context)) return null
  return context.statusReason === null
    ? deleted
    : publicText`The present volume could not be kept, so nothing was changed. ${committedReason(context.statusReason).message}`
}

const reasonOf = (error: RuntimeRefused | RuntimeUnsupported): PublicReason =>
  error._tag === "RuntimeRefused"
    ? { code: error.code, message: error.message }
    : { code: "UNSUPPORTED_BY_RUNTIME", message: unsupported }

export const restoreVolume = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement
  const sql = yield* SqlClient.SqlClient
  const services = yield* Effect.context<ActorHost | Journal>()

  const keptAs = (keptId: string) =>
    awaitState(snapshotMachine, keptId, ({ value }) => !isAwaited(value), lookAgainMs).pipe(
      Effect.repeat({ until: (state) => state === null || !isAwaited(state.value) }),
      Effect.provideContext(services)
    )

  const noteDone = (rollbackId: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.orDie(sql`
        update sandbox_rollbacks set done_at = ${BigInt(now)} where rollback_id = ${rollbackId} and done_at is null`)
    )

  /** One try. A boot that ended late may have left a runtime. If the host is lost, the result is that reason instead. */
  const replaced = (
    sandboxId: string,
    snapshotId: string,
    generation: number
  ): Effect.Effect<SandboxEvent, RuntimeUnavailable> =>
    Effect.andThen(
      runtime.stop(sandboxId, generation),
      runtime.snapshots.restore(snapshotId, sandboxId, generation)
    ).pipe(
      Effect.as<SandboxEvent>({ type: "VOLUME_RESTORED", generation }),
      Effect.catch((error) =>
        error._tag === "RuntimeUnavailable"
          ? Effect.flatMap(placement.standing(sandboxId), (standing) =>
              isLost(standing)
                ? Effect.as(placement.leave(sandboxId, generation), hostLost(generation, standing))
                : Effect.fail(error)
            )
          : Effect.succeed<SandboxEvent>({ type: "ROLLBACK_FAILED", generation, reason: reasonOf(error) })
      )
    )

  /** Null: the rollback is over. */
  return (context: SandboxContext, generation: number): Effect.Effect<SandboxEvent | null> => {
    const rollback = openRollback(context)
    if (rollback === null) return Effect.succeed(null)
    const { sandboxId } = context
    const { rollbackId, snapshotId, keptId } = rollback
    return Effect.gen(function* () {
      const message = keptId === null ? null : lackOf(yield* keptAs(keptId))
      if (message !== null) return { type: "ROLLBACK_FAILED", generation, reason: { code: "NOT_KEPT", message } }
      const outcome = yield* replaced(sandboxId, snapshotId, generation).pipe(
        Effect.tapError((error) => Effect.logWarning(`${sandboxId} is not rolled back yet`, error.message)),
        Effect.retry(untilDone),
        Effect.orDie
      )
      if (outcome.type === "VOLUME_RESTORED") yield* noteDone(rollbackId)
      return outcome
    })
  }
})
