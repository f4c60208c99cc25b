/** `atoll shell` */
import { constants } from "node:os"
import { ConnectionLost } from "../errors.ts"
import type { Terminal } from "../Terminal.ts"
import { command } from "./Command.ts"
import { exitCodes, Refused } from "./failure.ts"
import { Input } from "./Input.ts"
import { LeavingKeys } from "./LeavingKeys.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { signalNumber } from "./run/exitCode.ts"
import { write } from "./standardStreams.ts"

/** For a waking Sandbox. */
const patienceSeconds = 60

/** The key that ends the input of a program on a terminal. */
const endOfInput = "\x04"

/**
 * Resets the modes that a program may have left on: the second screen, mouse reports, bracketed paste, a hidden cursor,
 * colours.
 */
const asBefore = "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m\r\n"

/** The terminal of this process in raw mode: restored at the process's end, by any cause. */
class RawTerminal {
  #isRaw = false

  begin(): void {
    if (process.stdin.isTTY !== true) return
    this.#isRaw = true
    process.stdin.setRawMode(true)
    process.once("exit", () => this.end(false))
  }

  /** @param isWhole The shell ended by itself, and its programs have reset the terminal. */
  end(isWhole: boolean): void {
    if (!this.#isRaw) return
    this.#isRaw = false
    if (!isWhole && process.stdout.isTTY) process.stdout.write(asBefore)
    process.stdin.setRawMode(false)
  }
}

const sizeOf = ({ columns, rows, isTTY }: NodeJS.WriteStream) =>
  // 0 for a terminal without a size.
  isTTY && columns > 0 && rows > 0 ? { columns: Math.min(columns, 1000), rows: Math.min(rows, 1000) } : {}

/** Until the shell ends, or the user leaves it. */
const typeInto = async (terminal: Terminal, input: Input, leave: () => void): Promise<void> => {
  const isTyped = process.stdin.isTTY === true
  const keys = new LeavingKeys()
  for (let piece = await input.take(); piece !== null; piece = await input.take()) {
    const { bytes, isLeaving } = isTyped ? keys.read(piece) : { bytes: piece, isLeaving: false }
    await terminal.write(bytes)
    if (isLeaving) return leave()
  }
  await terminal.write(endOfInput)
}

export const shell = command({
  name: "shell",
  summary: "Open a terminal in a Sandbox: a login shell",
  usage: "SANDBOX",
  details: [
    "The shell and what it started end with the connection; what is to go on is started by `atoll run -d`, or in",
    "tmux. All keys go through; Enter, ~ and . leave at once, and Enter, ~ and ~ type a ~. The exit code is the",
    "shell's; 125 where the connection was lost."
  ].join("\n"),
  options: {},
  words: { least: 1, most: 1, completes: ["sandbox"] },
  failsWith: exitCodes.notRun,
  examples: [
    ["shell dev", "By its name"],
    ['shell "$(atoll sandbox create --stop-after-idle 30m)"', "In a new one"]
  ],
  run: async (given) => {
    const nameOrId = given.words[0]!
    const sandbox = await namedSandbox(given.connect(patienceSeconds), nameOrId)
    const terminal = await sandbox.terminal(sizeOf(process.stdout))
    const own = new RawTerminal()
    own.begin()
    const input = new Input(process.stdin)
    const resized = () => {
      const { columns, rows } = sizeOf(process.stdout)
      if (columns !== undefined && rows !== undefined) terminal.resize({ columns, rows })
    }
    process.stdout.on("resize", resized)
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(name, () => process.exit(128 + constants.signals[name]))
    }
    let hasLeft = false
    const typed = typeInto(terminal, input, () => {
      hasLeft = true
      void terminal.close()
    })
    // The output below fails with the same reason.
    typed.catch(() => {})
    let isWhole = false
    try {
      for await (const bytes of terminal.output()) await write(process.stdout, bytes)
      const exit = hasLeft ? null : await terminal.exited
      isWhole = exit !== null
      if (exit === null) return exitCodes.interrupted
      return exit.exitCode ?? 128 + (signalNumber(exit.signal ?? "") ?? 0)
    } catch (thrown) {
      if (!(thrown instanceof ConnectionLost)) throw thrown
      throw new Refused(`${thrown.message} \`atoll shell ${nameOrId}\` opens another one.`)
    } finally {
      process.stdout.off("resize", resized)
      own.end(isWhole)
      input.stop()
    }
  }
})
