/** Strings as the contract bounds them: characters are Unicode code points, as JSON Schema counts them. */
import { Schema } from "effect"

const codePoints = (text: string, stopAfter: number): number => {
  if (text.length <= stopAfter) return text.length
  let count = 0
  for (const _ of text) {
    count++
    if (count > stopAfter) break
  }
  return count
}

/** At least `min`, at most `max` Unicode code points. */
export const isCharactersBetween = (min: number, max: number) =>
  Schema.makeFilter<string>((text) => codePoints(text, max) <= max && text.length >= min, {
    expected: min === 0 ? `at most ${max} characters` : `between ${min} and ${max} characters`,
    toJsonSchema: () => (min === 0 ? { maxLength: max } : { minLength: min, maxLength: max })
  })

/**
 * A pattern for text, published as it is checked. JSON Schema reads patterns as Unicode, and Effect silently omits any
 * other from the description.
 */
export const isMatching = (pattern: RegExp, annotations: Parameters<typeof Schema.isPattern>[1]) =>
  Schema.isPattern(new RegExp(pattern.source, "u"), annotations)

/** Neither NUL nor half of a surrogate pair: text that a process, a file name and Postgres can all hold. */
export const isPlainText = Schema.makeFilter<string>((text) => !text.includes("\0") && text.isWellFormed(), {
  expected: "text without NUL and without lone surrogates",
  toJsonSchema: () => ({})
})

/** A joiner forms letters of other scripts and emoji; after Latin, Greek or Cyrillic it is only invisible. */
const joinedBefore =
  "[^\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Script=Common}\\p{Script=Inherited}]|[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\u{FE0F}]"
const shown = new RegExp(`^(?:[^\\p{C}\\p{Zl}\\p{Zp}]|(?<=${joinedBefore})[\\u200c\\u200d])*$`, "u")

/**
 * A name that is shown beside others: no invisible character, none that changes how its neighbours look (controls,
 * U+202E, U+2028, U+200B), and no space at its ends. So no name imitates another by invisible characters.
 */
export const isShownName = Schema.makeFilter<string>((text) => shown.test(text) && text === text.trim(), {
  expected: "text without invisible characters, and without a space at its ends",
  toJsonSchema: () => ({})
})

/** Well-formed Unicode; NUL is allowed. */
export const isWellFormedText = Schema.makeFilter<string>((text) => text.isWellFormed(), {
  expected: "text without lone surrogates",
  toJsonSchema: () => ({})
})

/** RFC 3339, UTC, milliseconds. */
export const Timestamp = Schema.String.annotate({
  format: "date-time",
  description: "RFC 3339, UTC, with milliseconds.",
  examples: ["2026-01-31T12:00:00.000Z"]
})
