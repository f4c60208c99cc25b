/** A command in one line, as one would type it into a shell; nothing in it is obeyed. */
import { oneLine } from "../characterPicture.ts"

const plain = /^[\w@%+=:,./-]+$/

const quoted = (argument: string): string =>
  plain.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`

const commandText = (argv: ReadonlyArray<string>): string => oneLine(argv.map(quoted).join(" "))

/** Of a long one the beginning. */
export const shortCommand = (argv: ReadonlyArray<string>, maxCharacters = 200): string => {
  const text = commandText(argv)
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text
}
