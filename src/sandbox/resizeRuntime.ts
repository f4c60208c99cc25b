/** Gives a running Sandbox the sizes that a client asked for, as far as it takes them while it runs. */
import { Effect, Schedule } from "effect"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { Runtime } from "../runtime/Runtime.ts"

const tries = 3
const again = Schedule.max([Schedule.exponential(250), Schedule.recurs(tries - 1)])

export const resizeRuntime = Effect.map(
  Runtime,
  (runtime) =>
    ({ sandboxId, profile }: SandboxContext, generation: number): Effect.Effect<null> => {
      const { vcpus, memoryBytes, diskBytes: volumeBytes } = profile
      return runtime.resize(sandboxId, generation, { vcpus, memoryBytes, volumeBytes }).pipe(
        Effect.retry(again),
        // Its next boot has them.
        Effect.catch(({ message }) => Effect.logWarning(`${sandboxId} keeps its sizes until it stops: ${message}`)),
        Effect.as(null)
      )
    }
)
