/** A person at a terminal: one bash, in this folder, that is given the lines to type. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"

const root = join(import.meta.dirname, "../../../..")
const patienceMs = 60_000

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A command that runs until it is stopped. */
export interface Running {
  readonly said: () => string
  /** Ctrl-C, and waits for its end. */
  readonly stop: () => Promise<void>
}

const isAlive = (group: number): boolean => {
  try {
    process.kill(-group, 0)
    return true
  } catch {
    return false
  }
}

export class Reader {
  readonly #home: string
  readonly #bash: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #groups = new Set<number>()
  #count = 0

  /** @param home An empty home folder. */
  constructor(home: string, environment: Readonly<Record<string, string>>) {
    this.#home = home
    this.#bash = spawn("bash", [], {
      cwd: root,
      env: { PATH: process.env["PATH"], HOME: home, ...environment },
      stdio: ["pipe", "pipe", "ignore"]
    })
    this.#lines = createInterface({ input: this.#bash.stdout! })[Symbol.asyncIterator]()
    // A background job is a separate group of processes.
    this.#bash.stdin!.write("set -m\n")
  }

  /** Types a line, and waits until the next prompt. Variables and functions stay. */
  async run(command: string): Promise<Said> {
    const { out, err, typed } = this.#begin(command)
    const code = Number(await this.#ask(`${typed} </dev/null; echo $?`))
    return { code, stdout: readFileSync(out, "utf8"), stderr: readFileSync(err, "utf8") }
  }

  /** Types a line that does not end by itself, and waits until it has printed this. */
  async follow(command: string, expected: RegExp): Promise<Running> {
    const { out, err, typed } = this.#begin(command)
    const group = Number(await this.#ask(`{ ${typed}; } </dev/null & echo $!`))
    this.#groups.add(group)
    const said = () => readFileSync(out, "utf8") + readFileSync(err, "utf8")
    const end = performance.now() + patienceMs
    while (!expected.test(said())) {
      if (!isAlive(group)) throw new Error(`It ended: ${command}\n${said()}`)
      if (performance.now() > end) throw new Error(`It does not say ${expected}: ${command}\n${said()}`)
      await sleep(20)
    }
    const stop = async () => {
      process.kill(-group, "SIGINT")
      while (isAlive(group)) await sleep(20)
    }
    return { said, stop }
  }

  async close(): Promise<void> {
    const ended = this.#bash.exitCode === null ? once(this.#bash, "exit") : null
    for (const group of this.#groups) if (isAlive(group)) process.kill(-group, "SIGKILL")
    this.#bash.kill("SIGKILL")
    await ended
  }

  #begin(command: string) {
    const name = join(this.#home, `typed-${this.#count++}`)
    const [line, out, err] = [name, `${name}.out`, `${name}.err`]
    writeFileSync(line, `${command}\n`)
    for (const file of [out, err]) writeFileSync(file, "")
    return { out, err, typed: `. ${line} >${out} 2>${err}` }
  }

  async #ask(line: string): Promise<string> {
    this.#bash.stdin!.write(`${line}\n`)
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error(`The shell ended: ${line}`)
    return value
  }
}
