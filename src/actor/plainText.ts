/**
 * Text as the database can hold it. An event's text comes from clients, guests and runtimes; jsonb takes neither NUL nor half of a
 * surrogate pair, and a transition that can never be stored would be tried for ever.
 */

const replacement = "\u{fffd}"

const plain = (text: string): string =>
  text.includes("\0") || !text.isWellFormed() ? text.toWellFormed().replaceAll("\0", replacement) : text

const copyOf = <A extends object>(value: A): A =>
  Object.fromEntries(Object.entries(value).map(([key, part]) => [plain(key), plainText(part)])) as A

/** The same value if there is nothing to replace in it, keys included; else a copy with U+FFFD in its place. */
export const plainText = <A>(value: A): A => {
  if (typeof value === "string") return plain(value) as A
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    const parts = value.map(plainText)
    return (parts.every((part, at) => part === value[at]) ? value : parts) as A
  }
  for (const key in value) {
    if (plain(key) !== key || plainText(value[key]) !== value[key]) return copyOf(value)
  }
  return value
}
