/**
 * Programs in a Sandbox choose names and contents: control characters, direction marks, zero-width characters,
 * invalid text. All of them are shown visibly: nothing is hidden, and nothing changes its neighbours.
 */
import { characterPicture, specials } from "../../characterPicture.ts"

/** A piece of a name: literal, or written out because it would be ambiguous. */
export interface Piece {
  readonly text: string
  readonly isWrittenOut: boolean
}

/** Controls, format marks (direction, joining, zero width), blanks, private use, and unassigned characters. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Z}]/u

/** An invalid UTF-8 byte in the API's encoding: U+10FE00 + byte. */
const byteBase = 0x10fe00

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u001b": "\\e" }

const writtenOut = (character: string): string => {
  const point = character.codePointAt(0)!
  if (point >= byteBase + 0x80 && point <= byteBase + 0xff) return `\\x${hex(point - byteBase, 2)}`
  return short[character] ?? (point < 0x100 ? `\\x${hex(point, 2)}` : `\\u{${hex(point, 4)}}`)
}

/** Spaces are written out at the ends, and other blanks everywhere. */
const mustBeWrittenOut = (character: string, isAtEnd: boolean): boolean =>
  character === " " ? isAtEnd : unseen.test(character)

export const piecesOf = (name: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  const characters = [...name]
  for (const [index, character] of characters.entries()) {
    const isWrittenOut = mustBeWrittenOut(character, index === 0 || index === characters.length - 1)
    const text = isWrittenOut ? (character === " " ? "\\x20" : writtenOut(character)) : character
    const last = pieces.at(-1)
    if (last !== undefined && last.isWrittenOut === isWrittenOut) {
      pieces[pieces.length - 1] = { text: last.text + text, isWrittenOut }
    } else pieces.push({ text, isWrittenOut })
  }
  return pieces
}

/** For places that allow only text: a label, a title. */
export const visibleName = (name: string): string =>
  piecesOf(name)
    .map(({ text }) => text)
    .join("")

/** For a file's text, which keeps line breaks (of both kinds), tabs and joining characters. */
export const visibleText = (text: string): { readonly shown: string; readonly changed: boolean } => {
  let changed = false
  const shown = text.replaceAll("\r\n", "\n").replace(specials, (character) => {
    changed = true
    return characterPicture(character)
  })
  return { shown, changed }
}
