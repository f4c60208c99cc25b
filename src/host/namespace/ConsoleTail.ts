/**
 * Follows the console file of one generation of a Sandbox: stdout and stderr of its agent and its init.
 *
 * Most consoles are silent most of the time. A console that was read to its end is watched by the kernel (inotify) until the next write. Only that
 * first write is watched: a console that floods costs its reader no more than one that does not.
 */
import { closeSync, type FSWatcher, openSync, readSync, statSync, truncateSync, watch } from "node:fs"

const READ_MAX_BYTES = 64 * 1024
/** A file that was read this far is truncated, so that it does not grow for ever. */
const FILE_MAX_BYTES = 1024 * 1024

export class ConsoleTail {
  /** Bytes truncated so far. */
  private cut = 0
  private offset = 0
  /** No write since the last read. */
  private isQuiet = false
  private watcher: FSWatcher | null = null
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** The next bytes, or null when there are none yet. */
  read(): { readonly offset: number; readonly bytes: Uint8Array } | null {
    if (this.isQuiet) return null
    try {
      const at = this.offset - this.cut
      if (statSync(this.path).size <= at) this.listen()
      // Checks again: a write may have come before the watch was set.
      const { size } = statSync(this.path)
      if (size <= at) return null
      this.wake()
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
        // Bytes written in between are lost: a console that floods is cut, not followed.
        truncateSync(this.path, 0)
        this.cut = this.offset
      }
      return chunk
    } catch {
      return null
    }
  }

  /** Removes the watch. */
  close(): void {
    this.watcher?.close()
    this.watcher = null
  }

  /** Throws where the host has no inotify watch left; then each read asks for the file's size. */
  private listen(): void {
    this.watcher = watch(this.path, { persistent: false }, () => this.wake())
    this.watcher.on("error", () => this.wake())
    this.isQuiet = true
  }

  private wake(): void {
    this.isQuiet = false
    this.close()
  }
}
