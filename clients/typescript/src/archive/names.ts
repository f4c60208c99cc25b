/**
 * Names in an archive are bytes. As text they are UTF-8; a byte that is not is the character U+10FE00 + byte, as the service shows it, and
 * becomes that byte again.
 */
const escapeBase = 0x10fe00
const escaped = /[\u{10fe80}-\u{10feff}]/u
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
