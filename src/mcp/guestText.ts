/**
 * Bytes that a guest wrote as text: well-formed whatever they are, and cut between characters, so that a piece and the one behind it make the
 * same text as both at once.
 */

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/** Bytes at the begin that end a character of which the piece has not the begin; no more than a character can have. */
export const headOfNone = (bytes: Uint8Array): number => {
  let count = 0
  while (count < Math.min(3, bytes.length) && isContinuation(bytes[count]!)) count++
  return count
}

/** What is no UTF-8 shows as U+FFFD. */
export const textOf = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

const exact = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true })

/** Null: these bytes are no text. */
export const exactText = (bytes: Uint8Array): string | null => {
  if (bytes.includes(0)) return null
  try {
    return exact.decode(bytes)
  } catch {
    return null
  }
}
