/** Ends what a Sandbox has on its host: its runtime, and with its deletion also its volume and its checkpoints. Both retry until they are done. */
import { Effect } from "effect"
import { hadCheckpoints } from "../../machines/checkpoints.ts"
import type { sandboxMachine } from "../../machines/sandbox.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Runtime, type RuntimeUnavailable } from "../runtime/Runtime.ts"
import { Checkpoints } from "./Checkpoints.ts"
import { hostLost, isLost } from "./hostLost.ts"
import { Placement } from "./Placement.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"
import { SandboxUse } from "./SandboxUse.ts"
import { untilDone } from "./untilDone.ts"

type SandboxEvent = EventOf<typeof sandboxMachine>

export const sandboxEnd = Effect.gen(function* () {
  const runtime = yield* Runtime
  const placement = yield* Placement
  const uses = yield* SandboxUse
  const envs = yield* SandboxEnvs
  const checkpoints = yield* Checkpoints

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

  const destroyRuntime = (context: SandboxContext) => {
    const { sandboxId } = context
    return destroyed(sandboxId).pipe(
      Effect.tapError((error) => Effect.logWarning(`The runtime of ${sandboxId} is not removed yet`, error.message)),
      Effect.retry(untilDone),
      Effect.orDie,
      Effect.tap(() => (hadCheckpoints(context) ? checkpoints.drop(sandboxId) : Effect.void)),
      Effect.tap(() => uses.forget(sandboxId)),
      Effect.tap(() => envs.forget(sandboxId, null)),
      Effect.as({ type: "VOLUME_GONE" as const })
    )
  }

  return { stopRuntime, destroyRuntime }
})
