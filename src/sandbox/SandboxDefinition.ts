/** Runs the commands of a Sandbox: calls the runtime driver, and tells the resources in the Sandbox that it has ended. */
import { Effect } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { ofThisVersion } from "../../machines/sandboxVersions.ts"
import { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { committedReason } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import { defineActor } from "../engine/defineActor.ts"
import { metering } from "../wallet/metering.ts"
import { bootMetrics } from "./bootMetrics.ts"
import { bootSandbox } from "./bootSandbox.ts"
import { askedCheckpoint, Checkpoints } from "./Checkpoints.ts"
import { Dependents } from "./Dependents.ts"
import { Placement } from "./Placement.ts"
import { resizeRuntime } from "./resizeRuntime.ts"
import { restoreVolume } from "./restoreVolume.ts"
import { sandboxEnd } from "./sandboxEnd.ts"
import { sandboxIdleness } from "./sandboxIdleness.ts"

export const sandboxDefinition = Effect.gen(function* () {
  const placement = yield* Placement
  const dependents = yield* Dependents
  const checkpoints = yield* Checkpoints
  const meter = yield* metering
  const measured = yield* bootMetrics((yield* Settings).parallelStarts)
  const boot = yield* bootSandbox
  const resize = yield* resizeRuntime
  const restore = yield* restoreVolume
  const { stopRuntime, destroyRuntime } = yield* sandboxEnd
  const { lookAtUse, lookAtIdleness, suspendRuntime } = yield* sandboxIdleness

  return defineActor(sandboxMachine, {
    context: SandboxContext,
    migrate: ofThisVersion,
    // In the lane "runtime" each command supersedes the earlier ones: the driver's calls may be interrupted anywhere.
    commands: {
      provision: {
        lane: "runtime",
        run: (scope) => Effect.suspend(() => measured(boot(scope.state().context, scope.tell)))
      },
      stopRuntime: {
        lane: "runtime",
        run: (scope, { generation }) => stopRuntime(scope.state().context.sandboxId, generation)
      },
      restoreVolume: {
        lane: "runtime",
        run: (scope, { generation }) => Effect.suspend(() => restore(scope.state().context, generation))
      },
      leaveRuntime: {
        lane: "runtime",
        run: (scope, { generation }) => Effect.as(placement.leave(scope.state().context.sandboxId, generation), null)
      },
      destroyRuntime: { lane: "runtime", run: (scope) => Effect.suspend(() => destroyRuntime(scope.state().context)) },
      suspendRuntime: {
        lane: "runtime",
        run: (scope, { generation }) => Effect.suspend(() => suspendRuntime(scope.state().context, generation))
      },
      // Beside the lane "runtime", which a change of sizes must not hold up; it reads the latest sizes.
      resizeRuntime: {
        lane: "sizes",
        run: (scope, { generation }) => Effect.suspend(() => resize(scope.state().context, generation))
      },
      lookAtUse: { lane: "runtime", run: (scope) => lookAtUse(scope.state().context) },
      lookAtIdleness: {
        lane: "idleness",
        run: (scope, { idleStopAt }) => lookAtIdleness(scope.state().context, idleStopAt)
      },
      // Beside the others: a boot waits at its host for an image that is being made, not here.
      takeCheckpoint: {
        lane: "checkpoint",
        run: (scope) => askedCheckpoint(checkpoints, scope.state().context.sandboxId, scope.key)
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
