/** Runs the commands of a snapshot: the host copies the volume, and removes the image; the ledger posts what it costs. */
import { Effect, Schedule } from "effect"
import { snapshotMachine, snapshotOfThisVersion, wasReady } from "../../machines/snapshot.ts"
import { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { type PublicReason, publicText } from "../../schemas/PublicText.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Runtime, type RuntimeRefused, type RuntimeUnavailable, type RuntimeUnsupported } from "../runtime/Runtime.ts"
import { failureReason } from "../sandbox/failureReason.ts"
import { Placement } from "../sandbox/Placement.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { untilDone } from "../sandbox/untilDone.ts"
import { metering } from "../wallet/metering.ts"
import { supersedeCheckpoints } from "./sandboxCheckpoints.ts"
import { snapshotNeeds } from "./snapshotNeeds.ts"
import { untilStopped } from "./untilStopped.ts"

type SnapshotEvent = EventOf<typeof snapshotMachine>

const captureTries = 3
const captureAgain = Schedule.min([Schedule.exponential(250), Schedule.spaced(2_000)])
const lookAgainMs = 200

const captureFailed = publicText`The snapshot could not be taken. Take another one.`
const notRolledBack: SnapshotEvent = {
  type: "CAPTURE_FAILED",
  reason: {
    code: "NOT_ROLLED_BACK",
    message: publicText`Its Sandbox was not rolled back after all, so there was nothing to keep.`
  }
}
const acceptFailed = publicText`The imported snapshot could not be made ready. Import it again.`
const unsupported = publicText`The host of this Sandbox takes no snapshots, or none with memory.`

const reasonOf = (
  { snapshotId, sandboxId }: SnapshotContext,
  error: RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported
): Effect.Effect<PublicReason> => {
  switch (error._tag) {
    case "RuntimeRefused":
      return Effect.succeed({ code: error.code, message: error.message })
    case "RuntimeUnsupported":
      return Effect.succeed({ code: "UNSUPPORTED_BY_RUNTIME", message: unsupported })
    case "RuntimeUnavailable":
      return failureReason("CAPTURE_FAILED", snapshotId, sandboxId === null ? acceptFailed : captureFailed, error)
  }
}

const imageOfHost = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement

  /** Asks the host for the image. One that a killed service had the host begin is there already, or is made again. */
  const image = ({ snapshotId, sandboxId, hostId, memory }: SnapshotContext) =>
    sandboxId === null
      ? runtime.snapshots.accept(snapshotId, hostId)
      : runtime.snapshots.capture(snapshotId, sandboxId, memory)

  return (context: SnapshotContext): Effect.Effect<SnapshotEvent> =>
    Effect.suspend(() => {
      const { sandboxId } = context
      const began = performance.now()
      let tries = 0
      const isThere =
        sandboxId === null ? Effect.succeed("there") : Effect.map(placement.standing(sandboxId), ({ is }) => is)
      /** Retries while the host is silent, as a boot does. */
      const mayAgain = Effect.map(isThere, (is) => {
        tries++
        if (is !== "there") return is === "silent"
        return tries < captureTries || performance.now() - began < placement.unsureForMs
      })
      return image(context).pipe(
        Effect.retry({
          schedule: captureAgain,
          while: (error) => (error._tag === "RuntimeUnavailable" ? mayAgain : Effect.succeed(false))
        }),
        Effect.matchEffect({
          // Hosts measure fractions. The API has whole milliseconds, and its 0 means that the volume was not in use.
          onSuccess: (made) =>
            Effect.succeed<SnapshotEvent>({ type: "CAPTURED", ...made, pausedMs: Math.ceil(made.pausedMs) }),
          onFailure: (error) =>
            Effect.map(reasonOf(context, error), (reason): SnapshotEvent => ({ type: "CAPTURE_FAILED", reason }))
        })
      )
    })
})

export const snapshotDefinition = Effect.gen(function* () {
  const runtime = yield* Runtime
  const envs = yield* SandboxEnvs
  const isNeeded = yield* snapshotNeeds
  const stopped = yield* untilStopped
  const meter = yield* metering
  const checkpoints = yield* supersedeCheckpoints

  const capture = yield* imageOfHost

  const captureInTurn = (context: SnapshotContext): Effect.Effect<SnapshotEvent> =>
    context.rollbackId === null
      ? capture(context)
      : Effect.flatMap(stopped(context), (isStopped) => (isStopped ? capture(context) : Effect.succeed(notRolledBack)))

  const untilUnneeded = (context: SnapshotContext) =>
    wasReady(context)
      ? isNeeded(context.snapshotId).pipe(
          Effect.repeat({ schedule: Schedule.spaced(lookAgainMs), until: (needed) => !needed })
        )
      : Effect.void

  const remove = (context: SnapshotContext): Effect.Effect<SnapshotEvent> => {
    const { snapshotId, hostId } = context
    return untilUnneeded(context).pipe(
      Effect.andThen(
        runtime.snapshots.remove(snapshotId, hostId).pipe(
          Effect.tapError((error) => Effect.logWarning(`The image of ${snapshotId} is not removed yet`, error.message)),
          Effect.retry(untilDone),
          Effect.orDie
        )
      ),
      Effect.andThen(envs.forget(snapshotId, null)),
      Effect.as({ type: "IMAGE_GONE" as const })
    )
  }

  return defineActor(snapshotMachine, {
    context: SnapshotContext,
    migrate: snapshotOfThisVersion,
    // A removal supersedes a capture: what that leaves on the host goes with it, or with the reconciler's next pass.
    commands: {
      captureSnapshot: { lane: "image", run: (scope) => Effect.suspend(() => captureInTurn(scope.state().context)) },
      removeSnapshot: { lane: "image", run: (scope) => Effect.suspend(() => remove(scope.state().context)) },
      supersedeOlder: {
        lane: null,
        run: (scope) => {
          const { sandboxId } = scope.state().context
          return Effect.as(sandboxId === null ? Effect.void : checkpoints.trim(sandboxId), null)
        }
      },
      meter: { lane: null, run: (scope) => Effect.suspend(() => meter(scope.state().context.snapshotId)) }
    }
  })
})
