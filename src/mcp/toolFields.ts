/** Arguments that several tools take. */
import { Schema } from "effect"
import { IdempotencyKey } from "../../schemas/IdempotencyKey.ts"

/** @param what The same key gives it again. */
export const idempotencyKey = (what: string) =>
  Schema.optionalKey(
    IdempotencyKey.annotate({
      description: `A text that is new for each new call, such as a UUID. If an answer was lost, call again with the same key and arguments: that gives ${what}, and nothing is done twice. By default each call makes a new one.`
    })
  )
