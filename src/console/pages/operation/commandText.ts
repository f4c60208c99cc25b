/** A command in one line, as one would type it into a shell; nothing in it is obeyed. */
import { oneLine } from "./inertText.ts"

const plain = /^[\w@%+=:,./-]+$/

const quoted = (argument: string): string =>
  plain.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`

export const commandText = (argv: ReadonlyArray<string>): string => oneLine(argv.map(quoted).join(" "))
