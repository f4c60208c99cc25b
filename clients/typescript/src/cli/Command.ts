/** What one command is: its words, its help, what can be completed in it, and what it does. */
import type { Atoll } from "../Atoll.ts"

/** What may stand at a place: one of these words, a Sandbox's name or id, a file, or either of the latter as `cp` takes them. */
export type Completion = ReadonlyArray<string> | "sandbox" | "file" | "path" | "command" | null

interface Described {
  readonly short?: string
  readonly description: string
}

export interface Flag extends Described {
  readonly type: "boolean"
}

export interface ValueOption extends Described {
  readonly type: "string"
  readonly multiple?: boolean
  /** What stands for its value in the help: `SECONDS`. */
  readonly value: string
  readonly completes?: Completion
}

/** By their long names, without the dashes. */
export type Options = { readonly [name: string]: Flag | ValueOption }

export type OptionValues<O extends Options> = {
  readonly [Name in keyof O]?:
    | (O[Name] extends { readonly type: "boolean" }
        ? boolean
        : O[Name] extends { readonly multiple: true }
          ? ReadonlyArray<string>
          : string)
    | undefined
}

/** What a command was called with. */
export interface Given<O extends Options = Options> {
  readonly options: OptionValues<O>
  /** What is not an option. */
  readonly words: ReadonlyArray<string>
  /** `--json`: one JSON document on stdout, or, of what follows something, one a line. */
  readonly isJson: boolean
  /** `--url`, if it was given. */
  readonly url: string | undefined
  /**
   * The service, with the key that is in use. Fails with Refused where nobody is logged in.
   *
   * @param patienceSeconds For how long a service that is away is asked again; by default 60 where it was there when the command began, else 3:
   *   a person waits.
   */
  readonly connect: (patienceSeconds?: number) => Atoll
}

export interface Command<O extends Options = Options> {
  readonly name: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** What stands behind the name: `SANDBOX PORT`. */
  readonly usage: string
  /** What else is to be said, in lines of at most 100 characters. */
  readonly details?: string
  readonly options: O
  /** How many words it takes, and what each may be; the last one stands for all that follow. */
  readonly words: { readonly least: number; readonly most: number; readonly completes: ReadonlyArray<Completion> }
  /** From its first word on everything is another command's: options, too. `--` may stand before it. */
  readonly isPrefix?: boolean
  /** Its exit code where it fails and does not say another; by default 1. Of what ends as a command in a Sandbox does: `notRun`. */
  readonly failsWith?: number
  /** Command lines without `atoll`, and what they do. */
  readonly examples: ReadonlyArray<readonly [line: string, does: string]>
  /** Answers the exit code. What it fails with is said in one sentence on stderr. */
  readonly run: (given: Given<O>) => Promise<number>
}

/** Several commands under one word: `atoll sandbox list`. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly commands: ReadonlyArray<Command>
}

/** Keeps the types of its options for `run`, and forgets them for the table of commands. */
export const command = <const O extends Options>(made: Command<O>): Command => made as unknown as Command

export const isGroup = (found: Command | CommandGroup): found is CommandGroup => "commands" in found
