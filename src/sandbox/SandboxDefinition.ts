/** Runs the commands of a Sandbox: calls the runtime driver, and tells the resources in the Sandbox that it has ended. */
import { Clock, Effect, Schedule, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { hasNeverRun, ofThisVersion, sandboxMachine } from "../../machines/sandbox.ts"
import { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { committedReason, publicText } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import type { SandboxSpec } from "../runtime/Runtime.ts"
import { Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { Int8 } from "../store/Columns.ts"
import { Ledger } from "../wallet/Ledger.ts"
import { WalletActors } from "../wallet/WalletActors.ts"
import { bootInTurn } from "./bootInTurn.ts"
import { bootMetrics } from "./bootMetrics.ts"
import { Dependents } from "./Dependents.ts"
import { failureReason } from "./failureReason.ts"
import { hostLost, isLost, type LostHost } from "./hostLost.ts"
import { Placement } from "./Placement.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"
import { SandboxUse } from "./SandboxUse.ts"

type SandboxEvent = EventOf<typeof sandboxMachine>
type SandboxScope = CommandScope<SandboxContext, SandboxEvent>

const bootTries = 3
/** While a host is unreachable its boots retry often, until the host is lost or the boot times out. */
const bootAgain = Schedule.min([Schedule.exponential(250), Schedule.spaced(2_000)])

const bootFailed = publicText`The Sandbox could not be booted. Start it again.`
const suspendFailed = publicText`The Sandbox could not be put to sleep, and runs on.`
const cannotSuspend = publicText`Sandboxes of this host cannot sleep.`

const specOf = (context: SandboxContext): SandboxSpec => ({
  sandboxId: context.sandboxId,
  generation: context.generation,
  vcpus: context.profile.vcpus,
  memoryBytes: context.profile.memoryBytes,
  volumeBytes: context.profile.diskBytes,
  networkEnabled: context.networkEnabled
})

/** Retries without end: a runtime that cannot be stopped or removed now can be later. */
const untilDone = Schedule.min([Schedule.exponential(200), Schedule.spaced(10_000)])

export const sandboxDefinition = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement
  const dependents = yield* Dependents
  const uses = yield* SandboxUse
  const envs = yield* SandboxEnvs
  const ledger = yield* Ledger
  const wallets = yield* WalletActors
  const sql = yield* SqlClient.SqlClient
  const measured = yield* bootMetrics((yield* Settings).parallelStarts)

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

  const lookAtUse = Effect.fnUntraced(function* (context: SandboxContext) {
    if (uses.sleepAfterMs === null || !(yield* placement.suspends(context.sandboxId))) return null
    const until = yield* idleAt(context, uses.sleepAfterMs)
    return (yield* Clock.currentTimeMillis) < until ? { type: "IN_USE" as const, until } : { type: "SLEEP" as const }
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

  const lookAtIdleness = Effect.fnUntraced(function* (context: SandboxContext, idleStopAt: number | null) {
    const allowed = context.lifetime?.stopAfterIdleSeconds ?? null
    if (allowed === null || idleStopAt === null) return null
    const usedAt = yield* lastUse(context)
    return (yield* Clock.currentTimeMillis) < usedAt + allowed * 1000
      ? { type: "WAS_USED" as const, idleStopAt, usedAt }
      : { type: "WAS_IDLE" as const, idleStopAt }
  })

  const provision = (context: SandboxContext, tell: SandboxScope["tell"]): Effect.Effect<SandboxEvent> =>
    Effect.suspend(() => {
      const { sandboxId, generation, bootTimeoutMs } = context
      const waits = (until: number) => tell({ type: "BOOT_WAITS", generation, until })
      const began = performance.now()
      let tries = 0
      let lost: LostHost | null = null
      /** Retries while the host is silent: a frozen machine there may still wake. */
      const mayAgain = Effect.map(placement.standing(sandboxId), (standing) => {
        tries++
        if (isLost(standing)) lost = standing
        if (standing.is !== "there") return standing.is === "silent"
        return tries < bootTries || performance.now() - began < placement.unsureForMs
      })
      return bootInTurn((turn) => runtime.provision(specOf(context), turn), bootTimeoutMs, waits).pipe(
        Effect.retry({
          schedule: bootAgain,
          while: (error) => (error._tag === "RuntimeUnavailable" ? mayAgain : Effect.succeed(false))
        }),
        // The Sandbox expires: its volume and its reservation go.
        Effect.tapError((error) =>
          error._tag === "RuntimeRefused" && hasNeverRun(context) ? placement.release(sandboxId) : Effect.void
        ),
        Effect.matchEffect({
          onSuccess: () => Effect.succeed<SandboxEvent>({ type: "RUNTIME_UP", generation }),
          onFailure: (error): Effect.Effect<SandboxEvent> => {
            if (lost !== null) return Effect.succeed(hostLost(generation, lost))
            if (error._tag === "RuntimeRefused") {
              const { code, message } = error
              return Effect.succeed({ type: "RUNTIME_REFUSED", generation, reason: { code, message } })
            }
            return Effect.map(failureReason("RUNTIME_FAILED", sandboxId, bootFailed, error), (reason) => ({
              type: "RUNTIME_FAILED",
              generation,
              reason
            }))
          }
        })
      )
    })

  /** One try. If the host is lost, the result is that reason instead. */
  const stopped = (sandboxId: string, generation: number): Effect.Effect<SandboxEvent, RuntimeUnavailable> =>
    runtime.stop(sandboxId, generation).pipe(
      Effect.as<SandboxEvent>({ type: "RUNTIME_STOPPED", generation }),
      Effect.catch((error) =>
        Effect.flatMap(placement.standing(sandboxId), (standing) =>
          isLost(standing)
            ? Effect.as(placement.leave(sandboxId, generation), hostLost(generation, standing))
            : Effect.fail(error)
        )
      )
    )

  /** One try. A host that was removed from the fleet has nothing left to destroy. */
  const destroyed = (sandboxId: string): Effect.Effect<void, RuntimeUnavailable> =>
    runtime
      .destroy(sandboxId)
      .pipe(
        Effect.catch((error) =>
          Effect.flatMap(placement.standing(sandboxId), ({ is }) =>
            is === "gone" ? placement.release(sandboxId) : Effect.fail(error)
          )
        )
      )

  const stopRuntime = (sandboxId: string, generation: number) =>
    stopped(sandboxId, generation).pipe(
      Effect.tapError((error) => Effect.logWarning(`The runtime of ${sandboxId} does not stop`, error.message)),
      Effect.retry(untilDone),
      Effect.orDie
    )

  const destroyRuntime = (sandboxId: string) =>
    destroyed(sandboxId).pipe(
      Effect.tapError((error) => Effect.logWarning(`The runtime of ${sandboxId} is not removed yet`, error.message)),
      Effect.retry(untilDone),
      Effect.orDie,
      Effect.tap(() => uses.forget(sandboxId)),
      Effect.tap(() => envs.forget(sandboxId, null)),
      Effect.as({ type: "VOLUME_GONE" as const })
    )

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

  /** A Sandbox that never ran has no cost. */
  const meter = (sandboxId: string) =>
    ledger.foldSandbox(sandboxId).pipe(
      Effect.flatMap((folded) => (folded === null ? Effect.void : wallets.changed(folded.accountId))),
      Effect.as(null)
    )

  return defineActor(sandboxMachine, {
    context: SandboxContext,
    migrate: ofThisVersion,
    // In the lane "runtime" each command supersedes the earlier ones: the driver's calls may be interrupted anywhere.
    commands: {
      provision: {
        lane: "runtime",
        run: (scope) => Effect.suspend(() => measured(provision(scope.state().context, scope.tell)))
      },
      stopRuntime: {
        lane: "runtime",
        run: (scope, { generation }) => stopRuntime(scope.state().context.sandboxId, generation)
      },
      leaveRuntime: {
        lane: "runtime",
        run: (scope, { generation }) => Effect.as(placement.leave(scope.state().context.sandboxId, generation), null)
      },
      destroyRuntime: { lane: "runtime", run: (scope) => destroyRuntime(scope.state().context.sandboxId) },
      suspendRuntime: {
        lane: "runtime",
        run: (scope, { generation }) => Effect.suspend(() => suspendRuntime(scope.state().context, generation))
      },
      lookAtUse: { lane: "runtime", run: (scope) => lookAtUse(scope.state().context) },
      lookAtIdleness: {
        lane: "idleness",
        run: (scope, { idleStopAt }) => lookAtIdleness(scope.state().context, idleStopAt)
      },
      meter: { lane: null, run: (scope) => Effect.suspend(() => meter(scope.state().context.sandboxId)) },
      closeDependents: {
        lane: null,
        run: (scope, { generation, ...reason }) => {
          const { context } = scope.state()
          // A command stored by an older version has no generation.
          return Effect.as(
            dependents.close(context.sandboxId, generation ?? context.generation, committedReason(reason)),
            null
          )
        }
      }
    }
  })
})
