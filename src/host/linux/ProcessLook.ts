/**
 * Whether a recorded process is alive, for a caller that asks about a thousand of them twice a second. Whether its pid exists is one system call (1.5 µs).
 * Whether it still is that process, and no zombie, needs a read from /proc (25 µs). So that is asked at every so many looks only, and where the pid may
 * have been assigned again since the last one.
 */
import { isAlive, mayBeAlive, type ProcessIdentity } from "./ProcessIdentity.ts"

/** The kernel assigns every other pid before it assigns one again: that takes longer. */
const PID_STAYS_FREE_MS = 3_000

let made = 0

export class ProcessLook {
  readonly #everyLooks: number
  #left: number
  #lookedAt = Number.NEGATIVE_INFINITY

  /** @param everyLooks Of so many looks, one is thorough. */
  constructor(everyLooks: number) {
    this.#everyLooks = everyLooks
    // Each begins elsewhere, so that the thorough looks at a thousand processes do not coincide.
    this.#left = made++ % everyLooks
  }

  /** @param now Milliseconds of a clock that goes on while this process is frozen. */
  isAlive(it: ProcessIdentity, now = performance.now()): boolean {
    const isDue = this.#left-- <= 0
    if (isDue) this.#left = this.#everyLooks - 1
    const isThorough = isDue || now - this.#lookedAt > PID_STAYS_FREE_MS
    this.#lookedAt = now
    return isThorough ? isAlive(it) : mayBeAlive(it)
  }
}
