/**
 * Linux names are bytes; the API's paths are text. Inside the agent a name is a *byte string*: one character (U+0000..U+00FF) per byte, Node's
 * `latin1`. Outside it is UTF-8 text, and each byte that is not UTF-8 is shown as the private-use character U+10FE00 + byte.
 *
 * So every name has exactly one shown form, and that form addresses it again. In a name that itself contains U+10FE80..U+10FEFF, those characters'
 * bytes are escaped, which keeps the mapping one to one.
 *
 * @source contract.md "Identifier formats", File path
 */
import { FileRefusal } from "./FileRefusal.ts"

const escapeBase = 0x10fe00
const escaped = /[\u{10fe80}-\u{10feff}]/u
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The byte string of a text. Escapes become their bytes (0x80..0xFF only, so they cannot produce `/`, NUL or a dot). */
export const nameBytes = (text: string): string => {
  if (!escaped.test(text)) return Buffer.from(text, "utf8").toString("latin1")
  let bytes = ""
  for (const character of text) {
    bytes += escaped.test(character)
      ? String.fromCharCode(character.codePointAt(0)! - escapeBase)
      : Buffer.from(character, "utf8").toString("latin1")
  }
  return bytes
}

const utf8Length = (byte: number): number => (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1)

/** The shown form of a byte string. */
export const nameText = (name: string): string => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: pure ASCII is the whole point
  if (/^[\x00-\x7f]*$/.test(name)) return name
  const bytes = Buffer.from(name, "latin1")
  try {
    const text = strict.decode(bytes)
    if (!escaped.test(text)) return text
  } catch {
    // Not UTF-8: character by character below.
  }
  let text = ""
  for (let at = 0; at < bytes.length; ) {
    const length = utf8Length(bytes[at]!)
    const character = decodeOne(bytes.subarray(at, at + length))
    if (character === null) {
      text += String.fromCodePoint(escapeBase + bytes[at]!)
      at += 1
    } else {
      text += character
      at += length
    }
  }
  return text
}

const decodeOne = (bytes: Uint8Array): string | null => {
  try {
    const character = strict.decode(bytes)
    return escaped.test(character) ? null : character
  } catch {
    return null
  }
}

const pathMaxCharacters = 4096

const invalid = (message: string, reason: string) => new FileRefusal("INVALID_PATH", message, { reason })

/** The segments below /workspace, as byte strings; none for /workspace itself. */
export const parsePath = (path: unknown): ReadonlyArray<string> => {
  if (typeof path !== "string") throw invalid("The path must be a string.", "not_a_string")
  if (path.length > pathMaxCharacters && [...path].length > pathMaxCharacters) {
    throw invalid(`The path is longer than ${pathMaxCharacters} characters.`, "path_too_long")
  }
  if (!path.isWellFormed()) throw invalid("The path is not well-formed Unicode.", "not_unicode")
  if (path.includes("\0")) throw invalid("The path contains NUL.", "nul")
  const [root, workspace, ...segments] = path.split("/")
  if (root !== "" || workspace !== "workspace") throw invalid("The path must start with /workspace.", "outside")
  if (segments.some((segment) => segment === "" || segment === "." || segment === "..")) {
    throw invalid("A path segment must not be empty, . or ..", "segment")
  }
  return segments.map(nameBytes)
}
