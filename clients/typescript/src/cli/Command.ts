/** The definition of a command: its words, its help, its completion, and its function. */
import type { Atoll } from "../Atoll.ts"

/**
 * The values of an argument: one of these words, the name or id of a Sandbox, a snapshot or an image, a file, or either of the latter as `cp` takes
 * them.
 */
export type Completion = ReadonlyArray<string> | "sandbox" | "snapshot" | "image" | "file" | "path" | "command" | null

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
  /** The name of its value in the help: `SECONDS`. */
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

/** The arguments of a call. */
export interface Given<O extends Options = Options> {
  readonly options: OptionValues<O>
  /** The arguments that are no options. */
  readonly words: ReadonlyArray<string>
  /** `--json`: one JSON document on stdout, or one a line for a command that follows something. */
  readonly isJson: boolean
  /** `--url`, if it was given. */
  readonly url: string | undefined
  /**
   * The service, with the key in use. Fails with Refused if no key is stored or given.
   * @param patienceSeconds How long an absent service is retried; by default 60 if it answered when the command began,
   * else 3:
   * a person waits.
   */
  readonly connect: (patienceSeconds?: number) => Atoll
}

export interface Command<O extends Options = Options> {
  readonly name: string
  /** One line, for the list of commands. */
  readonly summary: string
  /** The text behind the name: `SANDBOX PORT`. */
  readonly usage: string
  /** Further help, in lines of at most 100 characters. */
  readonly details?: string
  readonly options: O
  /** The number of its words, and the values of each; the last one stands for all that follow. */
  readonly words: { readonly least: number; readonly most: number; readonly completes: ReadonlyArray<Completion> }
  /** From its first word on, everything belongs to another command, options too. `--` may come before it. */
  readonly isPrefix?: boolean
  /**
   * Its exit code for a failure without another one; by default 1. For a command that ends like one in a Sandbox:
   * `notRun`.
   */
  readonly failsWith?: number
  /** Command lines without `atoll`, and their effect. */
  readonly examples: ReadonlyArray<readonly [line: string, does: string]>
  /** Returns the exit code. Its failure is printed in one sentence on stderr. */
  readonly run: (given: Given<O>) => Promise<number>
}

/** Several commands under one word: `atoll sandbox list`. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly commands: ReadonlyArray<Command>
}

/** Keeps the types of its options for `run`, and erases them for the table of commands. */
export const command = <const O extends Options>(made: Command<O>): Command => made as unknown as Command

export const isGroup = (found: Command | CommandGroup): found is CommandGroup => "commands" in found
