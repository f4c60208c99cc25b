/** Follows the process of an operation to its end, and stores its output. */
import { Effect } from "effect"
import type { OperationContext } from "../../schemas/contexts/Operation.ts"
import { Settings } from "../Config.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Output } from "../store/Output.ts"
import { followProcess } from "./ProcessFollower.ts"

export const followOperation = Effect.gen(function* () {
  const runtime = yield* Runtime
  const output = yield* Output
  const { outputRetentionBytes } = yield* Settings

  /** @param isNew Nothing of its output is stored yet, as far as this process knows. */
  return (context: OperationContext, isNew = false) =>
    Effect.gen(function* () {
      const guest = yield* runtime.guest(context.sandboxId, context.generation)
      return yield* followProcess({
        guest,
        output,
        key: context.operationId,
        sandboxId: context.sandboxId,
        source: "process",
        retainBytes: outputRetentionBytes,
        isNew
      })
    })
})
