/** The effects that earlier sweeps have met, in a file, so that a sweep goes on where another one ended. */
import { appendFileSync, existsSync, readFileSync } from "node:fs"

export class MetEffects {
  readonly #file: string | null
  readonly #met: Set<string>

  /** @param file Null: nothing is kept. It may not be there yet. */
  constructor(file: string | null) {
    this.#file = file
    this.#met = new Set(file !== null && existsSync(file) ? readFileSync(file, "utf8").split("\n") : [])
  }

  has(strike: string, scenario: string, effect: string): boolean {
    return this.#met.has(lineOf(strike, scenario, effect))
  }

  add(strike: string, scenario: string, effect: string): void {
    const line = lineOf(strike, scenario, effect)
    this.#met.add(line)
    if (this.#file !== null) appendFileSync(this.#file, `${line}\n`)
  }
}

const lineOf = (strike: string, scenario: string, effect: string): string => `${strike} | ${scenario} | ${effect}`
