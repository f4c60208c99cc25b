/** Computes one guarded edit from two texts: the shortest passage that occurs once, and its replacement. */
import { jsonBodyMaxBytes } from "../../../../../schemas/Limits.ts"

export interface Replacement {
  readonly oldText: string
  readonly newText: string
}

const isTrailing = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

const commonStart = (one: string, other: string): number => {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one.charCodeAt(length) === other.charCodeAt(length)) length++
  // Does not split a surrogate pair.
  return length > 0 && (isTrailing(one, length) || isTrailing(other, length)) ? length - 1 : length
}

const commonEnd = (one: string, other: string, start: number): number => {
  const most = Math.min(one.length, other.length) - start
  let length = 0
  while (length < most && one.charCodeAt(one.length - 1 - length) === other.charCodeAt(other.length - 1 - length))
    length++
  return length > 0 && isTrailing(one, one.length - length) ? length - 1 : length
}

const standsOnce = (text: string, passage: string): boolean => {
  const first = text.indexOf(passage)
  return text.indexOf(passage, first + 1) === -1
}

/** Null for an empty or unchanged text. */
export const replacementFor = (before: string, after: string): Replacement | null => {
  if (before === after || before === "") return null
  const start = commonStart(before, after)
  const end = commonEnd(before, after, start)
  // Extends the passage until it is unique.
  for (let around = 16; ; around *= 4) {
    let from = Math.max(0, start - around)
    let until = Math.min(before.length, before.length - end + around)
    if (isTrailing(before, from)) from--
    if (isTrailing(before, until)) until++
    const oldText = before.slice(from, until)
    if (oldText !== "" && standsOnce(before, oldText)) {
      return { oldText, newText: after.slice(from, after.length - (before.length - until)) }
    }
  }
}

/** True if the request body is within its limit. */
export const fits = (body: object): boolean =>
  new TextEncoder().encode(JSON.stringify(body)).byteLength <= jsonBodyMaxBytes

/** Line ends of a text; a text field keeps only one kind. */
export type LineEnds = "LF" | "CR LF" | "mixed"

export const lineEndsOf = (text: string): LineEnds => {
  if (!text.includes("\r")) return "LF"
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? "mixed" : "CR LF"
}

/** For a text without mixed line ends: in the form of the text field. */
export const asLines = (text: string): string => text.replaceAll("\r\n", "\n")

export const withEnds = (lines: string, ends: LineEnds): string =>
  ends === "CR LF" ? lines.replaceAll("\n", "\r\n") : lines
