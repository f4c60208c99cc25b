/**
 * Names in an archive are bytes. As text they are UTF-8; a byte that is not is the character U+10FE00 + byte, as the service shows it, and
 * becomes that byte again.
 */
const escapeBase = 0x10fe00
const escaped = /[\u{10fe80}-\u{10feff}]/u
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

export const bytesOfName = (text: string): Uint8Array<ArrayBuffer> => {
  if (!escaped.test(text)) return encoder.encode(text)
  const bytes: Array<number> = []
  for (const character of text) {
    if (escaped.test(character)) bytes.push(character.codePointAt(0)! - escapeBase)
    else bytes.push(...encoder.encode(character))
  }
  return new Uint8Array(bytes)
}

const textOrNull = (bytes: Uint8Array): string | null => {
  try {
    const text = strict.decode(bytes)
    return escaped.test(text) ? null : text
  } catch {
    return null
  }
}

export const nameOfBytes = (bytes: Uint8Array): string => {
  const whole = textOrNull(bytes)
  if (whole !== null) return whole
  let text = ""
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!
    const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
    const character = textOrNull(bytes.subarray(at, at + length))
    text += character ?? String.fromCodePoint(escapeBase + first)
    at += character === null ? 1 : length
  }
  return text
}
