/** The fields of an error of the contract: a sentence, and details for programs. */
import { Effect, Schema } from "effect"

export const nullDefault = Effect.succeed(null)

/** Codes whose `details` have no separate shape. */
export const plain = (message: string) => ({
  message: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed(message))),
  details: Schema.Null.pipe(Schema.withConstructorDefault(nullDefault))
})

export const withDetails = <const F extends Schema.Struct.Fields>(message: string, details: F) => ({
  message: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed(message))),
  details: Schema.Struct(details)
})
