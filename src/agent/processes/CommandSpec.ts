/** What a caller asks of a command. @source src/runtime/Guest.ts `ProcessSpec` */
import type { TerminalSize } from "./terminal.ts"

export interface CommandSpec {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin: Uint8Array | null
  readonly timeoutMs: number | null
  readonly output: { readonly mode: "window" | "head"; readonly bytes: number }
  /** The caller waits for its end and does not use its start. */
  readonly unwaited?: boolean
  /** If set, the command waits: while this many commands with this field run, and while there is no room at all. */
  readonly turnsMax?: number
  /** If set, the command is an execute: it waits at most this long while the maximum number of executes run, for all callers. */
  readonly waitMs?: number
  /** If set, its input stays open (`stdin` is then null), on its own terminal if `terminal` is given. */
  readonly interactive?: { readonly terminal: TerminalSize | null }
}

/** The two queues of waiting commands. */
export type Line = "operations" | "executes"

export const lineOf = ({ turnsMax, waitMs }: CommandSpec): Line | null => {
  if (turnsMax !== undefined) return "operations"
  return waitMs === undefined ? null : "executes"
}
