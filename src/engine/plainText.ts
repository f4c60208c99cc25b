/**
 * Text that the database can store. An event's text comes from clients, guests and runtimes. jsonb accepts neither NUL nor half of a
 * surrogate pair, and a transition that cannot be stored would be retried for ever.
 */

const replacement = "\u{fffd}"

const plain = (text: string): string =>
  text.includes("\0") || !text.isWellFormed() ? text.toWellFormed().replaceAll("\0", replacement) : text

const copyOf = <A extends object>(value: A): A =>
  Object.fromEntries(Object.entries(value).map(([key, part]) => [plain(key), plainText(part)])) as A

/** The same value if nothing has to be replaced, keys included; else a copy with U+FFFD instead. */
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
