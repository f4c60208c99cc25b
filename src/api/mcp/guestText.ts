/**
 * A guest's bytes as text: well-formed for any bytes, and cut between characters, so that adjacent pieces make the
 * same text as the whole.
 */

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/** Bytes at the start that end a character whose beginning is missing; at most 3. */
export const headOfNone = (bytes: Uint8Array): number => {
  let count = 0
  while (count < Math.min(3, bytes.length) && isContinuation(bytes[count]!)) count++
  return count
}

/** Invalid UTF-8 becomes U+FFFD. */
export const textOf = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

const exact = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true })

/** Null: the bytes are not text. */
export const exactText = (bytes: Uint8Array): string | null => {
  if (bytes.includes(0)) return null
  try {
    return exact.decode(bytes)
  } catch {
    return null
  }
}
