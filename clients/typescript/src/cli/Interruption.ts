/**
 * What asks this process to end: Ctrl-C, TERM, or the end of its terminal. The first time, what was begun in the Sandbox is to be ended; the
 * second time, the process ends at once.
 */
import { constants } from "node:os"

const asking = ["SIGINT", "SIGTERM", "SIGHUP"] as const

export class Interruption {
  readonly #controller = new AbortController()
  #by: (typeof asking)[number] | null = null

  /** @param leaving Called before the process ends at once. */
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

  /** Aborted the first time. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** 128 and the signal's number, as shells tell it; null: nobody asked. */
  get exitCode(): number | null {
    return this.#by === null ? null : 128 + constants.signals[this.#by]
  }
}
