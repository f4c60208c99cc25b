/** One of Atoll's programs as a separate process: started, killed, frozen, thawed, stopped; and its output. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { bundledOnce } from "./bundledOnce.ts"

const root = join(import.meta.dirname, "../..")
const logKept = 200

export class Program {
  readonly #log: Array<string> = []
  readonly #hearers = new Set<(text: string) => void>()
  #child: ChildProcess | null = null

  /**
   * @param words A source of this repository, and its arguments.
   * @param enter Words before the command, which enter the place where it runs.
   */
  spawn(
    words: ReadonlyArray<string>,
    environment: Readonly<Record<string, string | undefined>> = {},
    enter: ReadonlyArray<string> = []
  ): void {
    const [command, ...rest] = [...enter, process.execPath, ...words]
    const child = spawn(command!, rest, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], ...bundledOnce, ...environment }
    })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#log.push(text)
        if (this.#log.length > logKept) this.#log.shift()
        for (const hearer of this.#hearers) hearer(text)
      })
    }
  }

  /** Calls the hearer with all later output, piece by piece. */
  hear(hearer: (text: string) => void): void {
    this.#hearers.add(hearer)
  }

  get isUp() {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Its present memory in bytes; 0: it is not up. */
  get residentBytes() {
    if (!this.isUp) return 0
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#child!.pid}/status`, "utf8"))![1]) * 1024
  }

  /** It ended by itself: no test killed or stopped it. */
  get hasEnded() {
    return this.#child !== null && !this.isUp
  }

  get exitCode() {
    return this.#child?.exitCode ?? null
  }

  get log() {
    return this.#log.join("")
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill(signal)
    await ended
  }

  /** kill -9, in the middle of its work. */
  kill(): Promise<void> {
    return this.#end("SIGKILL")
  }

  /** SIGSTOP: it keeps its memory, its connections and its files, and does nothing. */
  freeze(): void {
    this.#child?.kill("SIGSTOP")
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child?.kill("SIGCONT")
  }

  /** In order: its children besides Sandboxes end too. */
  stop(): Promise<void> {
    return this.#end("SIGTERM")
  }
}
