/** The last output of Sandboxes that have ended, until the consoles are read. */
import type { ConsoleChunk } from "../../runtime/Runtime.ts"

/** Of all of them. The consoles are read every second, unless the log cannot be written. */
const KEPT_MAX_BYTES = 4 * 1024 * 1024

export class LastOutputs {
  #kept: Array<ConsoleChunk> = []
  #bytes = 0

  /** Gives up the oldest ones where there are too many. */
  keep(output: ConsoleChunk): void {
    this.#kept.push(output)
    this.#bytes += output.bytes.length
    while (this.#bytes > KEPT_MAX_BYTES) this.#bytes -= this.#kept.shift()!.bytes.length
  }

  /** Returns each once, the oldest first. */
  take(): ReadonlyArray<ConsoleChunk> {
    const kept = this.#kept
    this.#kept = []
    this.#bytes = 0
    return kept
  }
}
