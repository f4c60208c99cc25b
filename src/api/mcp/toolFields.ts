/** Arguments of several tools. */
import { Schema } from "effect"
import { IdempotencyKey } from "../../../schemas/IdempotencyKey.ts"

/** @param what The result that the same key returns again. */
export const idempotencyKey = (what: string) =>
  Schema.optionalKey(
    IdempotencyKey.annotate({
      description: `A unique text for each new call, such as a UUID. If an answer was lost, call again with the same key and arguments: that returns ${what}, and nothing is done twice. By default each call creates a new one.`
    })
  )
