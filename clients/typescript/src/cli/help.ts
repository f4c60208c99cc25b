/** The text of `--help`. */
import { type Command, type CommandGroup, isGroup, type Options } from "./Command.ts"
import { exitCodes } from "./failure.ts"
import { list } from "./table.ts"
import { everyCommands } from "./words.ts"

const indented = (text: string): string => text.replace(/^(?=.)/gm, "  ")

const optionLines = (options: Options): ReadonlyArray<readonly [string, string]> =>
  Object.entries(options).map(([name, option]) => {
    const short = option.short === undefined ? "    " : `-${option.short}, `
    return [`${short}--${name}${option.type === "string" ? ` ${option.value}` : ""}`, option.description]
  })

const section = (title: string, text: string): string => `${title}\n${indented(text)}`

const examplesOf = (examples: Command["examples"]): string =>
  examples.map(([line, does]) => `# ${does}\natoll ${line}`).join("\n\n")

/** @param path The words that lead to it: `sandbox create`. */
export const helpOf = (found: Command | CommandGroup, path: string): string => {
  if (isGroup(found)) {
    return [
      `${found.summary}.`,
      section("Usage", `atoll ${path} COMMAND`),
      section("Commands", list(found.commands.map(({ name, summary }) => [name, summary]))),
      `\`atoll ${path} COMMAND --help\` shows each with examples.`
    ].join("\n\n")
  }
  return [
    `${found.summary}.`,
    section("Usage", `atoll ${path} ${found.usage}`.trimEnd()),
    ...(found.details === undefined ? [] : [found.details]),
    section("Options", list([...optionLines(found.options), ...optionLines(everyCommands)])),
    section("Examples", examplesOf(found.examples))
  ].join("\n\n")
}

/** Of the whole command line. */
export const overview = (commands: ReadonlyArray<Command | CommandGroup>): string =>
  [
    "Sandboxes of an Atoll service: commands, terminals, files, previews.",
    section("Usage", "atoll COMMAND [OPTIONS]"),
    section(
      "Commands",
      list(
        commands.map((found) => [
          found.name,
          isGroup(found) ? `${found.summary}: ${found.commands.map(({ name }) => name).join(", ")}` : found.summary
        ])
      )
    ),
    section(
      "Begin with",
      [
        "atoll login",
        "atoll run -- python3 -c 'print(6 * 7)'",
        "atoll sandbox create --name dev && atoll shell dev"
      ].join("\n")
    ),
    section(
      "Environment",
      list([
        ["ATOLL_API_KEY", "An API key; counts before the one that `atoll login` stored"],
        ["ATOLL_URL", "Where the service is; counts before the one of `atoll login`"],
        ["XDG_CONFIG_HOME", "Where the login is stored, in atoll/credentials.json; ~/.config by default"]
      ])
    ),
    section(
      "Exit codes",
      list([
        [String(exitCodes.done), "Done"],
        [String(exitCodes.refused), "Refused or failed; one sentence on stderr says why"],
        [String(exitCodes.wrongUsage), "Wrong usage"],
        ["other", "run, shell and ssh end as the command does: with its code, or 128 and its signal's number"]
      ])
    ),
    "`atoll help COMMAND` shows a command with examples."
  ].join("\n\n")
