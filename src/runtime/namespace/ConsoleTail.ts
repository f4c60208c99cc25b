/** Follows the console file of one generation of a Sandbox: its agent's and its init's stdout and stderr. */
import { closeSync, openSync, readSync, statSync, truncateSync } from "node:fs"

const READ_MAX_BYTES = 64 * 1024
/** A file that was read this far is emptied, so that it does not grow for ever. */
const FILE_MAX_BYTES = 1024 * 1024

export class ConsoleTail {
  /** Bytes that were cut off the file's beginning so far. */
  private cut = 0
  private offset = 0
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** The next bytes, or null when there are none yet. */
  read(): { readonly offset: number; readonly bytes: Uint8Array } | null {
    try {
      const { size } = statSync(this.path)
      const at = this.offset - this.cut
      if (size <= at) return null
      const bytes = Buffer.allocUnsafe(Math.min(READ_MAX_BYTES, size - at))
      const fd = openSync(this.path, "r")
      let filled: number
      try {
        filled = readSync(fd, bytes, 0, bytes.length, at)
      } finally {
        closeSync(fd)
      }
      const chunk = { offset: this.offset, bytes: bytes.subarray(0, filled) }
      this.offset += filled
      if (at + filled >= FILE_MAX_BYTES) {
        // What was written in between is lost: a console that floods is cut, not followed.
        truncateSync(this.path, 0)
        this.cut = this.offset
      }
      return chunk
    } catch {
      return null
    }
  }
}
