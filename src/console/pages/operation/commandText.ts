/** A command on one line, quoted as for a shell; control characters are shown, not executed. */
import { oneLine } from "../characterPicture.ts"

const plain = /^[\w@%+=:,./-]+$/

const quoted = (argument: string): string =>
  plain.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`

const commandText = (argv: ReadonlyArray<string>): string => oneLine(argv.map(quoted).join(" "))

/** The beginning of a long command. */
export const shortCommand = (argv: ReadonlyArray<string>, maxCharacters = 200): string => {
  const text = commandText(argv)
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters - 1)}…` : text
}
