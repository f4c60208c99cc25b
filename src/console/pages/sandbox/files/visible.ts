/**
 * Names and contents are whatever a program inside has made them: controls, marks that turn the direction of text, characters of no width,
 * bytes that are no text. They are shown, and each stands for itself: nothing hides, and nothing moves what stands beside it.
 */
import { characterPicture, specials } from "../../characterPicture.ts"

/** A piece of a name: as it is, or written out because it could not be told otherwise. */
export interface Piece {
  readonly text: string
  readonly isWrittenOut: boolean
}

/** Controls, marks of format (direction, joining, no width), blanks, private use, and what stands for nothing. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Z}]/u

/** A byte that is no UTF-8, as the API shows it: U+10FE00 + byte. */
const byteBase = 0x10fe00

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0")

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u001b": "\\e" }

const writtenOut = (character: string): string => {
  const point = character.codePointAt(0)!
  if (point >= byteBase + 0x80 && point <= byteBase + 0xff) return `\\x${hex(point - byteBase, 2)}`
  return short[character] ?? (point < 0x100 ? `\\x${hex(point, 2)}` : `\\u{${hex(point, 4)}}`)
}

/** Blanks are told at the ends, and where they are not the common one. */
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

/** For where only text can stand: a label, a title. */
export const visibleName = (name: string): string =>
  piecesOf(name)
    .map(({ text }) => text)
    .join("")

/** Of a file's text, in which lines (of either end) and tabs are what they are, and scripts may join their letters. */
export const visibleText = (text: string): { readonly shown: string; readonly changed: boolean } => {
  let changed = false
  const shown = text.replaceAll("\r\n", "\n").replace(specials, (character) => {
    changed = true
    return characterPicture(character)
  })
  return { shown, changed }
}
