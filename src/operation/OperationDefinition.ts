/** Runs the commands of an Operation, in the guest of its Sandbox's generation. */

import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { lostReason, operationMachine, presentCommand } from "../../machines/operation.ts"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { OperationContext } from "../../schemas/contexts/Operation.ts"
import { committedReason, publicText, saidBySandbox } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { taggedStates } from "../engine/taggedStates.ts"
import { GuestUnavailable, type ProcessSpec } from "../runtime/Guest.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { endedStates, inhabitedStates, sandboxTagsOf } from "../sandbox/sandboxStates.ts"
import { Journal } from "../store/Journal.ts"
import { Output } from "../store/Output.ts"
import { generationOf } from "../store/SnapshotFields.ts"
import { operationTurns } from "./OperationTurns.ts"
import { outOfMemory } from "./outOfMemory.ts"
import { followProcess as followToEnd } from "./ProcessFollower.ts"

type OperationEvent = EventOf<typeof operationMachine>
type OperationScope = CommandScope<OperationContext, OperationEvent>

/** Time between TERM and KILL for a process tree in the guest. */
const graceMs = 2000
/** The guest's own time-out, later than the machine's deadline, for times without a follower. */
const guestTimeoutSlackMs = 10_000
const askStateWithinMs = 60_000
const windowBytes = 2 * 1024 * 1024
const askAgain = Schedule.min([Schedule.exponential(50), Schedule.spaced(2000)])

/** @param status Of the Sandbox; null: there is none. */
const lost = (status: string | null): OperationEvent => ({
  type: "LOST",
  reason: committedReason(lostReason(sandboxTagsOf(status)))
})

const forgotten: OperationEvent = {
  type: "LOST",
  reason: {
    code: "OUTCOME_UNKNOWN",
    message: publicText`The Sandbox no longer knows the command; its outcome is unknown.`
  }
}

const disbelieved: OperationEvent = {
  type: "LOST",
  reason: {
    code: "OUTCOME_UNKNOWN",
    message: publicText`The Sandbox's agent violated its protocol; the command's outcome is unknown.`
  }
}

/** A retry after a violation of the protocol would go on as long as the Sandbox runs. */
const unlessDisbelieved = <A, E, R, B>(effect: Effect.Effect<A, E, R>, otherwise: B): Effect.Effect<A | B, E, R> =>
  Effect.catchIf(
    effect,
    (error) => error instanceof GuestUnavailable && error.fault === "protocol",
    () => Effect.succeed(otherwise)
  )

export const operationDefinition = Effect.gen(function* () {
  const runtime = yield* Runtime
  const output = yield* Output
  const host = yield* ActorHost
  const journal = yield* Journal
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient
  const turnOf = yield* operationTurns
  const { outputRetentionBytes, operationsRunning } = yield* Settings

  /** The Sandbox's status if its running generation is not (or no longer) the operation's; else undefined. */
  const sandboxGone = Effect.fnUntraced(function* (context: OperationContext) {
    const [row] = yield* sql<{ readonly status: string; readonly generation: number }>`
      select status, ${sql.literal(generationOf("actors"))} as generation from actors where id = ${context.sandboxId}`.pipe(
      Effect.orDie
    )
    if (row === undefined) return null
    const isHere = row.generation === context.generation && inhabitedStates.includes(row.status)
    return isHere ? undefined : row.status
  })

  /** Retries `attempt` while the guest does not answer although its Sandbox runs; gives up when the Sandbox has ended. */
  const whileSandboxRuns = <A, E, B>(
    context: OperationContext,
    attempt: Effect.Effect<A, E | GuestUnavailable>,
    gone: (status: string | null) => B
  ): Effect.Effect<A | B, Exclude<E, GuestUnavailable>> =>
    attempt.pipe(
      Effect.catchIf(
        (error): error is GuestUnavailable & E => (error as { readonly _tag?: string })._tag === "GuestUnavailable",
        (error) =>
          Effect.flatMap(sandboxGone(context), (status) =>
            status === undefined ? Effect.fail(error) : Effect.succeed(gone(status))
          )
      ),
      Effect.retry({
        schedule: askAgain,
        while: (error) => (error as { readonly _tag?: string })._tag === "GuestUnavailable"
      })
    ) as Effect.Effect<A | B, Exclude<E, GuestUnavailable>>

  const follow = (context: OperationContext) =>
    Effect.gen(function* () {
      const guest = yield* runtime.guest(context.sandboxId, context.generation)
      return yield* followToEnd({
        guest,
        output,
        key: context.operationId,
        sandboxId: context.sandboxId,
        source: "process",
        retainBytes: outputRetentionBytes
      })
    })

  const startProcess = Effect.fnUntraced(function* (context: OperationContext) {
    const payload = yield* turnOf(context)
    const start = Effect.gen(function* () {
      const guest = yield* runtime.guest(context.sandboxId, context.generation)
      const spec: ProcessSpec = {
        argv: payload.argv,
        cwd: payload.cwd,
        env: { ...(yield* envs.read(context.sandboxId, payload.sandboxEnv ?? null)), ...payload.env },
        stdin: payload.stdin === null ? null : Buffer.from(payload.stdin, "base64"),
        timeoutMs: context.timeoutMs === null ? null : context.timeoutMs + guestTimeoutSlackMs,
        output: { mode: "window", bytes: windowBytes },
        turnsMax: operationsRunning
      }
      yield* guest.processes.start(context.operationId, spec)
      return { type: "STARTED" } as const
    }).pipe(
      Effect.catchTag("SpawnRefused", (refused) =>
        Effect.succeed<OperationEvent>({
          type: "REFUSED",
          reason: { code: refused.code, message: saidBySandbox(refused.message) }
        })
      )
    )
    return yield* whileSandboxRuns(context, unlessDisbelieved(start, disbelieved), lost)
  })

  const followProcess = (context: OperationContext) => {
    const followed = follow(context).pipe(
      Effect.map(({ exited, processTree }): OperationEvent => {
        if (exited === null) return forgotten
        // The guest was given no time-out that could pass.
        if (exited.timedOut) return context.timeoutMs === null ? disbelieved : { type: "TIME_OUT" }
        const reason = exited.outOfMemory ? outOfMemory : null
        return { type: "EXITED", exitCode: exited.exitCode, signal: exited.signal, reason, processTree }
      }),
      Effect.catchTag("ProcessUnknown", () => Effect.succeed(forgotten))
    )
    return whileSandboxRuns(context, unlessDisbelieved(followed, disbelieved), lost)
  }

  const dropSecrets = (id: string) =>
    sql`update actors set payload = payload || '{"env": null, "stdin": null}'::jsonb where id = ${id}`.pipe(
      Effect.orDie,
      Effect.asVoid
    )

  /** Returns once the runtime of the operation's generation, with all its processes, has ended. */
  const untilRuntimeEnded = ({ sandboxId, generation }: OperationContext) =>
    Effect.repeat(
      awaitState(
        sandboxMachine,
        sandboxId,
        (state) => endedStates.includes(state.value) || state.context.generation > generation,
        askStateWithinMs
      ).pipe(Effect.provideService(ActorHost, host), Effect.provideService(Journal, journal)),
      {
        until: (state) => state === null || endedStates.includes(state.value) || state.context.generation > generation
      }
    )

  const endProcess = (scope: OperationScope) =>
    Effect.gen(function* () {
      const { context } = scope.state()
      const { operationId, sandboxId, generation, startedAt } = context
      // It can no longer start, and its end may take as long as its Sandbox sleeps.
      yield* dropSecrets(operationId)
      const end = Effect.gen(function* () {
        const guest = yield* runtime.guest(sandboxId, generation)
        yield* guest.processes.kill(operationId, { graceMs })
        const { processTree } = yield* follow(context)
        // After a KILL no process may run: if the guest reports one, it has not ended the tree.
        return processTree === "running" ? "unconfirmed" : processTree
      }).pipe(
        // An unknown process that never started will not start any more. One that started has moved its processes out of sight.
        Effect.catchTag("ProcessUnknown", () =>
          Effect.succeed(startedAt === null ? ("gone" as const) : ("unconfirmed" as const))
        )
      )
      const told = yield* whileSandboxRuns(context, unlessDisbelieved(end, "unconfirmed" as const), () => null)
      if (told === null) yield* untilRuntimeEnded(context)
      return { type: "TREE_SETTLED" as const, processTree: told ?? ("gone" as const) }
    })

  const forgetProcess = (scope: OperationScope) =>
    Effect.gen(function* () {
      const { operationId, sandboxId, generation } = scope.state().context
      yield* dropSecrets(operationId)
      yield* Effect.flatMap(runtime.guest(sandboxId, generation), (guest) => guest.processes.forget(operationId)).pipe(
        Effect.ignore
      )
      return null
    })

  return defineActor(operationMachine, {
    context: OperationContext,
    presentCommand,
    // Ending a process supersedes following it.
    commands: {
      startProcess: { lane: "process", run: (scope) => Effect.suspend(() => startProcess(scope.state().context)) },
      followProcess: { lane: "process", run: (scope) => Effect.suspend(() => followProcess(scope.state().context)) },
      endProcess: { lane: "process", run: endProcess },
      forgetProcess: { lane: null, run: forgetProcess }
    }
  })
})

/** States in which an operation must be told that its Sandbox ended. */
export const openOperationStates = taggedStates(operationMachine, "open")
/** States in which it may start when another operation ends. */
export const queuedOperationStates = taggedStates(operationMachine, "waiting")
