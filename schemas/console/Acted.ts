/** The answer of an act of the operator in the console, and the values that the acts share. */
import { Schema } from "effect"
import { OpenApi } from "effect/http-api"
import { InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../Errors.ts"
import { isCharactersBetween, isPlainText } from "../Text.ts"

export const Acted = Schema.Struct({
  said: Schema.String.annotate({ description: "What was done, in the words of the command line." }),
  link: Schema.NullOr(Schema.String).annotate({ description: "Shown once." }),
  secret: Schema.NullOr(Schema.String).annotate({ description: "Of a new API key. Shown once." })
}).annotate({ identifier: "Acted" })
export interface Acted extends Schema.Schema.Type<typeof Acted> {}

/** As it is written on the command line: parsed by the same code. */
export const Written = Schema.String.check(isCharactersBetween(0, 64), isPlainText)
export const OrNone = Schema.NullOr(Written)

/** It is only compared. */
export const Id = Schema.String.check(isCharactersBetween(1, 64), isPlainText)

/** A name or an id of an account. It is only compared. */
export const NameOrId = Schema.String.check(isCharactersBetween(1, 128), isPlainText)

export const described = (identifier: string, summary: string) => OpenApi.annotations({ identifier, summary })

export const acted = {
  success: Acted,
  error: [InvalidRequest, NotFound, PayloadTooLarge, UnsupportedMediaType]
} as const
