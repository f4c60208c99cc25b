/** What a guest wrote, as text that does nothing: bounded, and with what would move the cursor or the reading direction made visible. */

/** C0 and C1 controls but for tab, and all that turns or hides text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const unseen =
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

const picture = (character: string): string => {
  const code = character.charCodeAt(0)
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
