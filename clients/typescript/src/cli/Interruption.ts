/**
 * Signals that ask this process to end: Ctrl-C, TERM, or the end of its terminal. The first one ends the work in the
 * Sandbox; the second one ends the process immediately.
 */
import { constants } from "node:os"

const asking = ["SIGINT", "SIGTERM", "SIGHUP"] as const

export class Interruption {
  readonly #controller = new AbortController()
  #by: (typeof asking)[number] | null = null

  /** @param leaving Called before the process ends immediately. */
  constructor(leaving: () => void) {
    for (const name of asking) {
      process.on(name, () => {
        if (this.#by !== null) {
          leaving()
          process.exit(128 + constants.signals[name])
        }
        this.#by = name
        this.#controller.abort(new Error(name))
      })
    }
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** 128 and the signal's number, as shells report it; null: there was none. */
  get exitCode(): number | null {
    return this.#by === null ? null : 128 + constants.signals[this.#by]
  }
}
