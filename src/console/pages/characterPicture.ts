/** Characters that would not be seen in a text, or would move others. */

/** All control characters but line breaks and tabs, and what Unicode has to turn the direction of text. */
export const specials = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** One of them so that it is seen: of C0 as Unicode's picture of it, all others by their number. */
export const characterPicture = (character: string): string => {
  const point = character.codePointAt(0)!
  if (point < 0x20) return String.fromCodePoint(0x2400 + point)
  return point === 0x7f ? "␡" : `‹U+${point.toString(16).toUpperCase().padStart(4, "0")}›`
}

/** A text from elsewhere in one line: its line breaks are shown, too. */
export const oneLine = (text: string): string => text.replace(specials, characterPicture).replace(/\n/g, "⏎")
