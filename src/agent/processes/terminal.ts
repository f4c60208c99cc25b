/**
 * Runs a command on a pseudo-terminal, without native code: `script` (util-linux) makes it and passes bytes on, `stty` sizes it.
 *
 * Both are in essential packages on Debian. Setting the size of the terminal sends SIGWINCH to its foreground processes.
 *
 * @source script(1), stty(1), proc(5) /proc/pid/stat field 7 (tty_nr)
 */
import { readFileSync } from "node:fs"
import { ownProgram } from "../ownProgram.ts"

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** `script` returns the exit code of its command. When its own input ends, it ends the terminal only after the command has ended. */
export const terminalArgv = (argv: ReadonlyArray<string>, { columns, rows }: TerminalSize): ReadonlyArray<string> => [
  ...ownProgram("script"),
  "--quiet",
  "--return",
  "--echo",
  "always",
  "--command",
  `${ownProgram("stty").join(" ")} rows ${rows} cols ${columns} 2>/dev/null; exec ${argv.map(quoted).join(" ")}`,
  "/dev/null"
]

/** The device of the terminal that the `script` with this pid made; null before its command has started or after it ended. */
const deviceOf = (scriptPid: number): string | null => {
  try {
    const children = readFileSync(`/proc/${scriptPid}/task/${scriptPid}/children`, "latin1").trim().split(" ")
    for (const pid of children.filter(Boolean)) {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
      // The name of the program, in parentheses, may contain any character.
      const device = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[4])
      const major = (device >> 8) & 0xfff
      const minor = (device & 0xff) | ((device >> 12) & 0xfff00)
      if (major >= 136 && major <= 143) return `/dev/pts/${minor + (major - 136) * 256}`
    }
  } catch {
    // It has ended.
  }
  return null
}

/** A program starts within milliseconds; in an emulated machine that is busy it may take a second. */
const POLL_FIRST_MS = 1
const POLL_MAX_MS = 20
const POLLS_MAX = 50

/** Waits for the device of a terminal whose command is about to start. Null when it has ended, or takes longer than a second. */
export const awaitDevice = async (scriptPid: number, hasEnded: () => boolean): Promise<string | null> => {
  let waitMs = POLL_FIRST_MS
  for (let polls = 0; polls < POLLS_MAX && !hasEnded(); polls++) {
    const device = deviceOf(scriptPid)
    if (device !== null) return device
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    waitMs = Math.min(2 * waitMs, POLL_MAX_MS)
  }
  return null
}

/** Does nothing if the command ends meanwhile. */
export const resizeTerminal = async (
  device: string,
  { columns, rows }: TerminalSize,
  runOwn: (argv: readonly [string, ...Array<string>]) => Promise<void>
): Promise<void> =>
  runOwn([...ownProgram("stty"), "-F", device, "rows", String(rows), "cols", String(columns)]).catch(() => {})
