/** Splits a command line: options by the command's own table, and the other words. */
import { type ParseArgsOptionDescriptor, parseArgs } from "node:util"
import type { Command, Options, OptionValues } from "./Command.ts"
import { WrongUsage } from "./failure.ts"
import { nearest } from "./nearest.ts"

/** Options of every command. */
export const everyCommands = {
  json: { type: "boolean", description: "Print JSON, as the API has it" },
  url: { type: "string", value: "URL", description: "Where the service is; by default as ATOLL_URL or the login says" },
  help: { type: "boolean", short: "h", description: "Show this help" }
} as const satisfies Options

export interface Words {
  readonly options: OptionValues<Options>
  readonly every: OptionValues<typeof everyCommands>
  readonly words: ReadonlyArray<string>
}

const parserOptions = (options: Options): Record<string, ParseArgsOptionDescriptor> =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      name,
      {
        type: option.type,
        ...(option.short === undefined ? {} : { short: option.short }),
        multiple: option.type === "string" && option.multiple === true
      }
    ])
  )

/** Node's message, without its advice about other spellings. */
const saidOf = (thrown: unknown): string => {
  const [said = ""] = (thrown as Error).message.split(/\. (?:To specify|Did you)/)
  return said.replace(/\.?$/, ".")
}

/** The place and the first word of the other command: behind a `--`, if there is one before it. */
const prefixEnd = (given: ReadonlyArray<string>, options: Record<string, ParseArgsOptionDescriptor>) => {
  const { tokens } = parseArgs({ args: [...given], options, strict: false, allowPositionals: true, tokens: true })
  const end = tokens.find(({ kind }) => kind !== "option")
  if (end === undefined) return { own: given.length, other: given.length }
  return { own: end.index, other: end.kind === "option-terminator" ? end.index + 1 : end.index }
}

/**
 * Fails with WrongUsage.
 * @param path The words that lead to the command: `sandbox list`.
 * @param given The words behind them.
 */
export const wordsOf = (command: Command, path: string, given: ReadonlyArray<string>): Words => {
  const all = { ...command.options, ...everyCommands }
  const options = parserOptions(all)
  const { own, other } = command.isPrefix === true ? prefixEnd(given, options) : { own: given.length, other: 0 }
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: given.slice(0, own), options, strict: true, allowPositionals: true })
  } catch (thrown) {
    const unknown = /^Unknown option '(--?[^']+)'/.exec((thrown as Error).message)?.[1]
    const near = unknown === undefined ? null : nearest(unknown.replace(/^-+/, ""), Object.keys(all))
    throw new WrongUsage(near === null ? saidOf(thrown) : `Unknown option '${unknown}'. Did you mean --${near}?`)
  }
  const values = parsed.values as OptionValues<typeof all>
  const words = command.isPrefix === true ? given.slice(other) : parsed.positionals
  if (values.help === true) return { options: values, every: values, words }
  const { least, most } = command.words
  if (words.length < least) throw new WrongUsage(`Something is missing: atoll ${path} ${command.usage}`)
  if (words.length > most) throw new WrongUsage(`That is too much: ${JSON.stringify(words[most])}.`)
  return { options: values, every: values, words }
}
