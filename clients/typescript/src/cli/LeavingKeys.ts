/** Escape keys of a remote terminal: `~.` at the beginning of a line leaves it, as in ssh; `~~` there is one `~`. */

const enter = 0x0d
const tilde = 0x7e
const dot = 0x2e

export class LeavingKeys {
  #isLineBegin = true
  /** A `~` that may be the first of two keys. */
  #isHeld = false

  /** The bytes to send. */
  read(typed: Uint8Array): { readonly bytes: Uint8Array; readonly isLeaving: boolean } {
    const bytes: Array<number> = []
    for (const key of typed) {
      if (this.#isHeld) {
        this.#isHeld = false
        if (key === dot) return { bytes: Uint8Array.from(bytes), isLeaving: true }
        bytes.push(tilde)
        if (key === tilde) continue
      } else if (this.#isLineBegin && key === tilde) {
        this.#isHeld = true
        this.#isLineBegin = false
        continue
      }
      bytes.push(key)
      this.#isLineBegin = key === enter
    }
    return { bytes: Uint8Array.from(bytes), isLeaving: false }
  }
}
