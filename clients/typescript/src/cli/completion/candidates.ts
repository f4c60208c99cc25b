/** The possible words at the place where Tab is pressed. */
import { type Command, type CommandGroup, type Completion, isGroup, type Options } from "../Command.ts"
import { everyCommands } from "../words.ts"

export interface Candidate {
  readonly word: string
  readonly about: string
}

export interface Completions {
  readonly candidates: ReadonlyArray<Candidate>
  /** The shell adds its own files. */
  readonly isFile: boolean
}

/** The requests to a service, which return nothing rather than late. */
export interface Known {
  readonly sandboxes: () => Promise<ReadonlyArray<Candidate>>
  readonly images: () => Promise<ReadonlyArray<Candidate>>
  readonly snapshots: () => Promise<ReadonlyArray<Candidate>>
  /** Words that begin like `sandbox:path`. */
  readonly remotePaths: (typed: string) => Promise<ReadonlyArray<Candidate>>
}

const nothing: Completions = { candidates: [], isFile: false }

const named = (found: ReadonlyArray<{ readonly name: string; readonly summary: string }>): Completions => ({
  candidates: found.map(({ name, summary }) => ({ word: name, about: summary })),
  isFile: false
})

const byKind = async (kind: Completion, typed: string, known: Known): Promise<Completions> => {
  if (kind === null || kind === "command") return nothing
  if (kind === "file") return { candidates: [], isFile: true }
  if (kind === "sandbox") return { candidates: await known.sandboxes(), isFile: false }
  if (kind === "image") return { candidates: await known.images(), isFile: false }
  if (kind === "snapshot") return { candidates: await known.snapshots(), isFile: false }
  if (kind !== "path") return { candidates: kind.map((word) => ({ word, about: "" })), isFile: false }
  if (typed.includes(":")) return { candidates: await known.remotePaths(typed), isFile: false }
  const sandboxes = await known.sandboxes()
  return { candidates: sandboxes.map(({ word, about }) => ({ word: `${word}:`, about })), isFile: true }
}

const optionOf = (options: Options, word: string) =>
  word.startsWith("--")
    ? options[word.slice(2)]
    : Object.values(options).find(({ short }) => short !== undefined && word === `-${short}`)

const ofCommand = async (command: Command, given: ReadonlyArray<string>, typed: string, known: Known) => {
  const options: Options = { ...command.options, ...everyCommands }
  let words = 0
  let isOver = false
  for (let at = 0; at < given.length; at++) {
    const word = given[at]!
    if (!isOver && word === "--") isOver = true
    else if (!isOver && word.startsWith("-") && word !== "-") {
      const option = word.includes("=") ? undefined : optionOf(options, word)
      if (option?.type !== "string") continue
      if (at === given.length - 1) return byKind(option.completes ?? null, typed, known)
      at++
    } else {
      words++
      if (command.isPrefix === true) isOver = true
    }
  }
  if (!isOver && typed.startsWith("-")) {
    const [name, value] = typed.split("=", 2)
    const option = value === undefined ? undefined : optionOf(options, name!)
    if (option?.type === "string") {
      const { candidates, isFile } = await byKind(option.completes ?? null, value!, known)
      return { candidates: candidates.map(({ word, about }) => ({ word: `${name}=${word}`, about })), isFile }
    }
    const all = Object.entries(options).map(([long, { description }]) => ({ word: `--${long}`, about: description }))
    return { candidates: all, isFile: false }
  }
  const { most, completes } = command.words
  if (words >= most) return nothing
  return byKind(completes[Math.min(words, completes.length - 1)] ?? null, typed, known)
}

/** @param line The words behind `atoll`; the last one is being typed. */
export const completionsOf = async (
  commands: ReadonlyArray<Command | CommandGroup>,
  line: ReadonlyArray<string>,
  known: Known
): Promise<Completions> => {
  const typed = line.at(-1) ?? ""
  const before = line.slice(0, -1)
  const first = before.findIndex((word) => !word.startsWith("-"))
  const helps = { name: "help", summary: "Show a command with examples" }
  const isHelp = before[first] === "help"
  const path = before.slice(first === -1 ? before.length : isHelp ? first + 1 : first)
  if (path.length === 0) {
    if (!typed.startsWith("-")) return named(isHelp ? commands : [...commands, helps])
    return named([
      { name: "--help", summary: "Show all commands" },
      { name: "--version", summary: "Show the version" }
    ])
  }
  const outer = commands.find(({ name }) => name === path[0])
  if (outer === undefined) return nothing
  if (!isGroup(outer)) return isHelp ? nothing : ofCommand(outer, path.slice(1), typed, known)
  if (path.length === 1) return named(outer.commands)
  const inner = outer.commands.find(({ name }) => name === path[1])
  return inner === undefined || isHelp ? nothing : ofCommand(inner, path.slice(2), typed, known)
}
