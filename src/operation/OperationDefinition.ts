/** Runs the commands of an Operation, in the guest of its Sandbox's generation. */
import { Effect } from "effect"
import { operationMachine, presentCommand } from "../../machines/operation.ts"
import { OperationContext } from "../../schemas/contexts/Operation.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { taggedStates } from "../engine/taggedStates.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { endProcess } from "./endProcess.ts"
import { followOperation } from "./followOperation.ts"
import { disbelieved, forgotten, lost, unlessDisbelieved } from "./lostOperation.ts"
import { operationSecrets } from "./operationSecrets.ts"
import { outOfMemory } from "./outOfMemory.ts"
import { StartedHere } from "./StartedHere.ts"
import { startProcess } from "./startProcess.ts"
import { whileSandboxRuns } from "./whileSandboxRuns.ts"

type OperationEvent = EventOf<typeof operationMachine>
type OperationScope = CommandScope<OperationContext, OperationEvent>

export const operationDefinition = Effect.gen(function* () {
  const runtime = yield* Runtime
  const started = new StartedHere()
  const start = yield* startProcess(started)
  const follow = yield* followOperation
  const end = yield* endProcess
  const dropSecrets = yield* operationSecrets
  const whileRuns = yield* whileSandboxRuns

  const followProcess = (context: OperationContext) => {
    const followed = Effect.suspend(() => follow(context, started.isFirstFollow(context.operationId))).pipe(
      Effect.map(({ exited, processTree }): OperationEvent => {
        if (exited === null) return forgotten
        // The guest was given no time-out that could pass.
        if (exited.timedOut) return context.timeoutMs === null ? disbelieved : { type: "TIME_OUT" }
        const reason = exited.outOfMemory ? outOfMemory : null
        return { type: "EXITED", exitCode: exited.exitCode, signal: exited.signal, reason, processTree }
      }),
      Effect.catchTag("ProcessUnknown", () => Effect.succeed(forgotten))
    )
    return whileRuns(context, unlessDisbelieved(followed, disbelieved), lost)
  }

  const forgetProcess = (scope: OperationScope) =>
    Effect.gen(function* () {
      const { operationId, sandboxId, generation } = scope.state().context
      if (!started.endsWithoutSecrets(operationId)) yield* dropSecrets(operationId)
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
      startProcess: { lane: "process", run: (scope) => Effect.suspend(() => start(scope.state().context)) },
      followProcess: { lane: "process", run: (scope) => Effect.suspend(() => followProcess(scope.state().context)) },
      endProcess: { lane: "process", run: end },
      // The guest forgets what has ended by itself when it knows too much.
      forgetProcess: {
        lane: null,
        run: forgetProcess,
        isBestEffort: ({ operationId }) => started.hasNoSecrets(operationId)
      }
    }
  })
})

/** States in which an operation must be told that its Sandbox ended. */
export const openOperationStates = taggedStates(operationMachine, "open")
/** States in which it may start when another operation ends. */
export const queuedOperationStates = taggedStates(operationMachine, "waiting")
