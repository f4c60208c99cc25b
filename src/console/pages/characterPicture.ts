/** Visible forms of characters that are invisible in a text, or would change its direction. */

/** All control characters except line breaks and tabs, and Unicode's direction marks. */
export const specials = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A visible form: for C0 characters Unicode's picture, for others their code. */
export const characterPicture = (character: string): string => {
  const point = character.codePointAt(0)!
  if (point < 0x20) return String.fromCodePoint(0x2400 + point)
  return point === 0x7f ? "␡" : `‹U+${point.toString(16).toUpperCase().padStart(4, "0")}›`
}

/** Untrusted text on one line, with visible line breaks. */
export const oneLine = (text: string): string => text.replace(specials, characterPicture).replace(/\n/g, "⏎")
