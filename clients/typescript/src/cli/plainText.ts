/**
 * Makes text from elsewhere (names, metadata, output of programs) harmless on a terminal, and measures its width there.
 */

/** All control characters except line breaks and tabs, and Unicode's controls of the text's direction. */
const specials = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** The visible form: Unicode's picture of a C0 character, the number of all others. */
const pictureOf = (character: string): string => {
  const point = character.codePointAt(0)!
  if (point < 0x20) return String.fromCodePoint(0x2400 + point)
  return point === 0x7f ? "␡" : `‹U+${point.toString(16).toUpperCase().padStart(4, "0")}›`
}

/** With its line breaks and tabs. */
export const plainLines = (text: string): string => text.replace(specials, pictureOf)

/** Sequences that only colour text (SGR), and the carriage return of a line's end. */
const harmless = /(\x1b\[[\d;:]*m|\r(?=\n))/

/** Programs' output, line by line: its colours, and no other sequence that a terminal would obey. */
export const plainColoured = (text: string): string => {
  if (!text.includes("\x1b") && !text.includes("\r")) return plainLines(text)
  const parts = text.split(harmless).map((part, at) => (at % 2 === 1 ? part : plainLines(part)))
  return `${parts.join("")}\x1b[0m`
}

/** In one line. */
export const plain = (text: string): string => plainLines(text).replace(/\n/g, "⏎").replace(/\t/g, " ")

/** Characters that a terminal draws in two columns: emoji, and East Asian characters that are wide or full-width. */
const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u
const ascii = /^[\x20-\x7e]*$/
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** In columns of a terminal. */
export const widthOf = (text: string): number => {
  if (ascii.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text))
    width += wide.test(segment) ? 2 : /^\p{Mark}/u.test(segment) ? 0 : 1
  return width
}

/** Its beginning, with an ellipsis if a part is missing. */
export const cut = (text: string, columns: number): string => {
  if (widthOf(text) <= columns) return text
  let kept = ""
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return columns < 1 ? "" : `${kept}…`
}
