/** Runs the commands of a snapshot: the host copies the volume, and removes the image; the ledger posts what it costs. */
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { snapshotMachine, wasReady } from "../../machines/snapshot.ts"
import { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { type PublicReason, publicText } from "../../schemas/PublicText.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Runtime, type RuntimeRefused, type RuntimeUnavailable, type RuntimeUnsupported } from "../runtime/Runtime.ts"
import { failureReason } from "../sandbox/failureReason.ts"
import { Placement } from "../sandbox/Placement.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { awaitedStates } from "../sandbox/sandboxStates.ts"
import { untilDone } from "../sandbox/untilDone.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { metering } from "../wallet/metering.ts"

type SnapshotEvent = EventOf<typeof snapshotMachine>

const captureTries = 3
const captureAgain = Schedule.min([Schedule.exponential(250), Schedule.spaced(2_000)])
const lookAgainMs = 200

const captureFailed = publicText`The snapshot could not be taken. Take another one.`
const unsupported = publicText`The host of this Sandbox takes no snapshots.`

const reasonOf = (
  snapshotId: string,
  error: RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported
): Effect.Effect<PublicReason> => {
  switch (error._tag) {
    case "RuntimeRefused":
      return Effect.succeed({ code: error.code, message: error.message })
    case "RuntimeUnsupported":
      return Effect.succeed({ code: "UNSUPPORTED_BY_RUNTIME", message: unsupported })
    case "RuntimeUnavailable":
      return failureReason("CAPTURE_FAILED", snapshotId, captureFailed, error)
  }
}

export const snapshotDefinition = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient
  const meter = yield* metering

  /** One that a killed service had the host begin is there already, or is made again. */
  const capture = ({ snapshotId, sandboxId }: SnapshotContext): Effect.Effect<SnapshotEvent> =>
    Effect.suspend(() => {
      const began = performance.now()
      let tries = 0
      /** Retries while the host is silent, as a boot does. */
      const mayAgain = Effect.map(placement.standing(sandboxId), ({ is }) => {
        tries++
        if (is !== "there") return is === "silent"
        return tries < captureTries || performance.now() - began < placement.unsureForMs
      })
      return runtime.snapshots.capture(snapshotId, sandboxId).pipe(
        Effect.retry({
          schedule: captureAgain,
          while: (error) => (error._tag === "RuntimeUnavailable" ? mayAgain : Effect.succeed(false))
        }),
        Effect.matchEffect({
          // Hosts measure fractions. The API has whole milliseconds, and its 0 means that the volume was not in use.
          onSuccess: (image) =>
            Effect.succeed<SnapshotEvent>({ type: "CAPTURED", ...image, pausedMs: Math.ceil(image.pausedMs) }),
          onFailure: (error) =>
            Effect.map(reasonOf(snapshotId, error), (reason): SnapshotEvent => ({ type: "CAPTURE_FAILED", reason }))
        })
      )
    })

  /** Whether a Sandbox waits for its first boot of it. */
  const isNeeded = (snapshotId: string) =>
    sql`select 1 from sandbox_origins o join actors a on a.id = o.sandbox_id
      where o.snapshot_id = ${snapshotId} and a.sandbox_status = any(${textColumn(awaitedStates)}::text[])
        and ${sql.literal(fieldOf("a", "startedAt", "text"))} is null limit 1`.pipe(
      Effect.orDie,
      Effect.map((rows) => rows.length > 0)
    )

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
    // A removal supersedes a capture: what that leaves on the host goes with it, or with the reconciler's next pass.
    commands: {
      captureSnapshot: { lane: "image", run: (scope) => Effect.suspend(() => capture(scope.state().context)) },
      removeSnapshot: { lane: "image", run: (scope) => Effect.suspend(() => remove(scope.state().context)) },
      meter: { lane: null, run: (scope) => Effect.suspend(() => meter(scope.state().context.snapshotId)) }
    }
  })
})
