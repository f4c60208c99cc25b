/** The snapshot that a rollback keeps: it is taken once its Sandbox has stopped for that, so that nothing is missing in it. */
import { Clock, Effect } from "effect"
import { openRollback, sandboxMachine } from "../../machines/sandbox.ts"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import type { ActorState } from "../engine/ActorDefinition.ts"
import type { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { isRestoring, volumelessStates } from "../sandbox/sandboxStates.ts"
import type { Journal } from "../store/Journal.ts"

/** The snapshot is stored shortly before its Sandbox is asked. A service that was killed in between never asks it. */
const askedWithinMs = 60_000
const lookAgainMs = 1_000

/** Null: it may still come to that. */
const verdictOf = (
  { rollbackId, createdAt }: SnapshotContext,
  sandbox: ActorState<SandboxContext> | null,
  now: number
): "stopped" | "never" | null => {
  if (sandbox === null || volumelessStates.includes(sandbox.value)) return "never"
  const context = ofThisVersion(sandbox.value, sandbox.context)
  if (context.rollback?.rollbackId !== rollbackId) return now > createdAt + askedWithinMs ? "never" : null
  if (openRollback(context) === null) return "never"
  return isRestoring(sandbox.value) ? "stopped" : null
}

export const untilStopped = Effect.gen(function* () {
  const services = yield* Effect.context<ActorHost | Journal>()

  /** False: the rollback does not take place. */
  return (snapshot: SnapshotContext): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const { sandboxId } = snapshot
      if (sandboxId === null) return false
      while (true) {
        const now = yield* Clock.currentTimeMillis
        const isSettled = (state: ActorState<SandboxContext>) => verdictOf(snapshot, state, now) !== null
        const sandbox = yield* awaitState(sandboxMachine, sandboxId, isSettled, lookAgainMs)
        const verdict = verdictOf(snapshot, sandbox, now)
        if (verdict !== null) return verdict === "stopped"
      }
    }).pipe(Effect.provideContext(services))
})
