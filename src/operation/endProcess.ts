/** Ends the process tree of an operation, and says whether it is gone. */
import { Effect } from "effect"
import type { operationMachine } from "../../machines/operation.ts"
import { sandboxMachine } from "../../machines/sandbox.ts"
import type { OperationContext } from "../../schemas/contexts/Operation.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { endedStates } from "../sandbox/sandboxStates.ts"
import { Journal } from "../store/Journal.ts"
import { followOperation } from "./followOperation.ts"
import { unlessDisbelieved } from "./lostOperation.ts"
import { operationSecrets } from "./operationSecrets.ts"
import { whileSandboxRuns } from "./whileSandboxRuns.ts"

type OperationScope = CommandScope<OperationContext, EventOf<typeof operationMachine>>

/** Time between TERM and KILL for a process tree in the guest. */
const graceMs = 2000
const askStateWithinMs = 60_000

export const endProcess = Effect.gen(function* () {
  const runtime = yield* Runtime
  const host = yield* ActorHost
  const journal = yield* Journal
  const dropSecrets = yield* operationSecrets
  const whileRuns = yield* whileSandboxRuns
  const follow = yield* followOperation

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

  return (scope: OperationScope) =>
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
      const told = yield* whileRuns(context, unlessDisbelieved(end, "unconfirmed" as const), () => null)
      if (told === null) yield* untilRuntimeEnded(context)
      return { type: "TREE_SETTLED" as const, processTree: told ?? ("gone" as const) }
    })
})
