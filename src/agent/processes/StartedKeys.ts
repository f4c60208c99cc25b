/**
 * The keys of commands that were started and are not forgotten, as empty files. PID 1 of a machine replaces an agent that ends, and the service
 * repeats a start whose answer was lost: the new agent must not run that command a second time.
 *
 * An execute is not in it: the service never repeats one.
 */
import { hash } from "node:crypto"
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** A key may be longer than a file's name. */
const nameOf = (key: string): string => hash("sha256", key, "hex")

export class StartedKeys {
  readonly #folder: string
  /** Names of the commands of earlier agents. */
  readonly #earlier: Set<string>
  /** Keys of this agent's commands. */
  readonly #own = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#earlier = new Set(readdirSync(folder))
  }

  /** An earlier agent started this command, or was about to. */
  isEarlier(key: string): boolean {
    return this.#earlier.size > 0 && this.#earlier.has(nameOf(key))
  }

  /** Call it before the command starts. Without room for the file the command starts all the same. */
  note(key: string): void {
    this.#own.add(key)
    try {
      writeFileSync(join(this.#folder, nameOf(key)), "")
    } catch {
      // Only a repetition by another agent would need it.
    }
  }

  drop(key: string): void {
    if (!this.#own.delete(key) && !this.isEarlier(key)) return
    const name = nameOf(key)
    this.#earlier.delete(name)
    rmSync(join(this.#folder, name), { force: true })
  }
}
