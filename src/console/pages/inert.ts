/** What a guest wrote, as text that does nothing: bounded, and with what would move the cursor or turn the reading direction made visible. */

/** Controls, and all that turns, hides or breaks text. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A tab, and what joins letters and keeps them apart: words and emoji are written with them. */
const kept: ReadonlySet<string> = new Set(["\t", "\u200c", "\u200d"])

const picture = (character: string): string => {
  if (kept.has(character)) return character
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return "\u2421"
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`
}

export const visible = (text: string): string => text.replace(unseen, picture)

/** At most so many characters of it, and what is missing in words. */
export const bounded = (text: string, max: number): string =>
  text.length <= max
    ? visible(text)
    : `${visible(text.slice(0, max))} … ${(text.length - max).toLocaleString("en-US")} more characters`
