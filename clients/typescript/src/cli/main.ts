#!/usr/bin/env node
import { descriptionVersion } from "../generated/schemas.ts"
/** `atoll`, the customer's command line. The operator's is another one: `npm run atoll` of the service. */
import { libraryVersion } from "../version.ts"
import { type Command, type CommandGroup, isGroup } from "./Command.ts"
import { commands } from "./commands.ts"
import { completionsOf } from "./completion/candidates.ts"
import { known } from "./completion/known.ts"
import { connect, credentialsInUse, urlInUse } from "./connection.ts"
import { sayMore } from "./documentation.ts"
import { exitCodeOf, exitCodes, sentenceOf, WrongUsage } from "./failure.ts"
import { helpOf, overview } from "./help.ts"
import { nearest } from "./nearest.ts"
import { ReaderGone, remark, writeLine } from "./standardStreams.ts"
import { wordsOf } from "./words.ts"

const versionLine = `atoll ${libraryVersion} (API ${descriptionVersion}, Node ${process.versions.node})`

const isOption = (word: string | undefined): boolean => word?.startsWith("-") === true

/** `atoll --json sandbox list`: options before the command count as if they came behind it. */
const inOrder = (given: ReadonlyArray<string>): ReadonlyArray<string> => {
  const before: Array<string> = []
  let at = 0
  for (; isOption(given[at]); at++) {
    const word = given[at]!
    if (word === "--json" || word.startsWith("--url=")) before.push(word)
    else if (word === "--url" && given[at + 1] !== undefined) before.push(word, given[++at]!)
    else throw new WrongUsage(`Unknown option '${word}'.`)
  }
  const rest = given.slice(at)
  const names = isGroup(found(rest[0] ?? "", commands)) ? 2 : 1
  return [...rest.slice(0, names), ...before, ...rest.slice(names)]
}

const found = <A extends Command | CommandGroup>(name: string, among: ReadonlyArray<A>): A => {
  const same = among.find((one) => one.name === name)
  if (same !== undefined) return same
  const names = among.map((one) => one.name)
  const near = nearest(name, names)
  throw new WrongUsage(
    `There is no command ${JSON.stringify(name)}. ${near === null ? `Commands: ${names.join(", ")}.` : `Did you mean \`${near}\`?`}`
  )
}

const isHelp = (word: string | undefined): boolean => word === "--help" || word === "-h"

const help = async (path: ReadonlyArray<string>): Promise<number> => {
  const [first, second] = path
  if (first === undefined) {
    await writeLine(overview(commands))
    return exitCodes.done
  }
  const outer = found(first, commands)
  const inner = isGroup(outer) && second !== undefined ? found(second, outer.commands) : outer
  await writeLine(helpOf(inner, [first, ...(inner === outer ? [] : [second!])].join(" ")))
  return exitCodes.done
}

/** For the scripts of `atoll completion`: a word, a tab and its description, a line each. */
const complete = async (line: ReadonlyArray<string>): Promise<number> => {
  const { candidates, isFile } = await completionsOf(commands, line, known)
  const typed = line.at(-1) ?? ""
  const fitting = candidates.filter(({ word }) => word.startsWith(typed)).map(({ word, about }) => `${word}\t${about}`)
  for (const found of isFile ? [...fitting, ":file"] : fitting) await writeLine(found)
  return exitCodes.done
}

const perform = async (command: Command, path: ReadonlyArray<string>, given: ReadonlyArray<string>) => {
  let url: string | null = null
  let named: string | undefined
  let isJson = false
  try {
    const { options, every, words } = wordsOf(command, path.join(" "), given)
    if (every.help === true) return await help(path)
    named = every.url
    isJson = every.json === true
    return await command.run({
      options,
      words,
      isJson,
      url: every.url,
      connect: (patienceSeconds) => {
        const credentials = credentialsInUse(every.url)
        url = credentials.url
        return connect(credentials, patienceSeconds)
      }
    })
  } catch (thrown) {
    if (thrown instanceof ReaderGone) return exitCodes.readerGone
    remark(sentenceOf(thrown, url ?? urlInUse(named)))
    if (thrown instanceof WrongUsage) remark(`\`atoll ${path.join(" ")} --help\` shows how.`)
    sayMore({ isJson }, [thrown])
    return exitCodeOf(thrown, command.failsWith)
  }
}

const dispatch = async (words: ReadonlyArray<string>): Promise<number> => {
  if (words.length === 0) {
    process.stderr.write(`${overview(commands)}\n`)
    return exitCodes.wrongUsage
  }
  if (words[0] === "--version" || words[0] === "-V" || words[0] === "version") {
    await writeLine(versionLine)
    return exitCodes.done
  }
  if (isHelp(words[0])) return help([])
  if (words[0] === "__complete") return complete(words.slice(1))
  if (words[0] === "help") return help(words.slice(1).filter((word) => !isHelp(word)))
  const [first = "", ...rest] = inOrder(words)
  const outer = found(first, commands)
  if (!isGroup(outer)) return perform(outer, [first], rest)
  if (isHelp(rest[0]) || rest.length === 0) {
    if (rest.length > 0) return help([first])
    process.stderr.write(`${helpOf(outer, first)}\n`)
    return exitCodes.wrongUsage
  }
  const inner = found(rest[0]!, outer.commands)
  return perform(inner, [first, inner.name], rest.slice(1))
}

const all = async (): Promise<number> => {
  try {
    return await dispatch(process.argv.slice(2))
  } catch (thrown) {
    if (thrown instanceof ReaderGone) return exitCodes.readerGone
    remark(sentenceOf(thrown, ""))
    if (thrown instanceof WrongUsage) remark("`atoll help` shows all commands.")
    return exitCodeOf(thrown)
  }
}

// Anything that still waits (an open stdin, an idle connection) is abandoned.
process.exit(await all())
