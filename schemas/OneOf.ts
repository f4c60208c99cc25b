/** One of a few words. */
import { Schema } from "effect"

/** What is none of them is answered with all of them; by default it would be with the identifier. */
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
