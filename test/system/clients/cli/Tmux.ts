/** A terminal that somebody types into and looks at: tmux. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { untilFound } from "../../../support/until.ts"
import type { Environment } from "./Customer.ts"

const run = promisify(execFile)

export class Tmux {
  readonly #socket: string
  readonly #env: Environment

  private constructor(socket: string, env: Environment) {
    this.#socket = socket
    this.#env = env
  }

  /** With bash in it. @param socket A path that is free. */
  static async open(
    socket: string,
    env: Environment,
    { columns, rows }: { readonly columns: number; readonly rows: number }
  ): Promise<Tmux> {
    const tmux = new Tmux(socket, { ...env, TERM: "xterm-256color" })
    await tmux.#tell("new-session", "-d", "-x", String(columns), "-y", String(rows), "bash --norc --noprofile")
    return tmux
  }

  async #tell(...words: ReadonlyArray<string>): Promise<string> {
    const { stdout } = await run("tmux", ["-S", this.#socket, "-f", "/dev/null", ...words], { env: this.#env })
    return stdout
  }

  /** By tmux's names. */
  async keys(...keys: ReadonlyArray<string>): Promise<void> {
    await this.#tell("send-keys", ...keys)
  }

  /** Characters as they are. */
  async write(text: string): Promise<void> {
    await this.#tell("send-keys", "-l", "--", text)
  }

  /** One line, and Enter. */
  async type(line: string): Promise<void> {
    await this.write(line)
    await this.keys("Enter")
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tell("resize-window", "-x", String(columns), "-y", String(rows))
  }

  /** What is to be seen, without empty lines. @param look With the sequences of its colours, if that is asked for. */
  async screen(look?: "coloured"): Promise<string> {
    const shown = await this.#tell("capture-pane", "-p", ...(look === "coloured" ? ["-e"] : []))
    return shown.replace(/\s*$/gm, "").replace(/\n+/g, "\n")
  }

  /** Waits until it is to be seen. */
  async shows(wanted: RegExp, look?: "coloured"): Promise<void> {
    let seen = ""
    await untilFound(
      async () => {
        seen = await this.screen(look)
        return wanted.test(seen)
      },
      { otherwise: () => `${wanted} is not to be seen: ${JSON.stringify(seen)}` }
    )
  }

  async close(): Promise<void> {
    await this.#tell("kill-server").catch(() => {})
  }
}
