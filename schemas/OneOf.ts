/** One of a few words. */
import { Schema } from "effect"

/** Any other word is answered with all of them; by default the answer would have only the identifier. */
export const oneOf = <const Words extends ReadonlyArray<string>>(
  identifier: string,
  words: Words,
  description: string
) =>
  Schema.Literals(words).annotate({
    identifier,
    description,
    message: `Expected ${words.map((word) => JSON.stringify(word)).join(" | ")}`
  })
