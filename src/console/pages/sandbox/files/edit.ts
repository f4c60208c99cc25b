/** One text made into another by one guarded edit: the shortest passage that stands in it once, and what takes its place. */
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
  // Not between the halves of a character.
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

/** Null: of an empty text, or of one that is the same. */
export const replacementFor = (before: string, after: string): Replacement | null => {
  if (before === after || before === "") return null
  const start = commonStart(before, after)
  const end = commonEnd(before, after, start)
  // More of what stands around it, until it is the only one.
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

/** Whether it goes in one request. */
export const fits = (body: object): boolean =>
  new TextEncoder().encode(JSON.stringify(body)).byteLength <= jsonBodyMaxBytes

/** How the lines of a text end; a field for text keeps only one way of it. */
export type LineEnds = "LF" | "CR LF" | "mixed"

export const lineEndsOf = (text: string): LineEnds => {
  if (!text.includes("\r")) return "LF"
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? "mixed" : "CR LF"
}

/** Of a text that is not mixed: as a field for text has it. */
export const asLines = (text: string): string => text.replaceAll("\r\n", "\n")

export const withEnds = (lines: string, ends: LineEnds): string =>
  ends === "CR LF" ? lines.replaceAll("\n", "\r\n") : lines
