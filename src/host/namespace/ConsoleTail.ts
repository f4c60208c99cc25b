/**
 * Follows the console file of one generation of a Sandbox: stdout and stderr of its agent and its init.
 *
 * Most consoles are silent most of the time. A console that was read to its end is watched by the kernel (inotify) until the next write. Only that
 * first write is watched: a console that floods costs its reader no more than one that does not.
 */
import { closeSync, type FSWatcher, openSync, readSync, statSync, truncateSync, watch } from "node:fs"
import type { ConsoleChunk } from "../../runtime/Runtime.ts"
import type { ConsoleCut } from "./ConsoleCut.ts"

const READ_MAX_BYTES = 64 * 1024
/** A file that was read this far is truncated, so that it does not grow for ever. */
const FILE_MAX_BYTES = 1024 * 1024

/** The offset is of the first byte, within the generation. */
type ConsoleOutput = Pick<ConsoleChunk, "offset" | "bytes">

export class ConsoleTail {
  /** Bytes truncated so far. */
  private cut: number
  private offset: number
  /** No write since the last read. */
  private isQuiet = false
  private watcher: FSWatcher | null = null
  private readonly path: string
  private readonly cuts: ConsoleCut

  constructor(path: string, cuts: ConsoleCut) {
    this.path = path
    this.cuts = cuts
    this.cut = cuts.read()
    this.offset = this.cut
  }

  /** The next bytes, or null when there are none yet. */
  read(): ConsoleOutput | null {
    if (this.isQuiet) return null
    try {
      const at = this.offset - this.cut
      if (statSync(this.path).size <= at) this.listen()
      // Checks again: a write may have come before the watch was set.
      const { size } = statSync(this.path)
      if (size <= at) return null
      this.wake()
      const chunk = this.bytesFrom(at, size)
      if (this.offset - this.cut >= FILE_MAX_BYTES) {
        // Bytes written in between are lost: a console that floods is cut, not followed.
        this.cuts.keep(this.offset)
        truncateSync(this.path, 0)
        this.cut = this.offset
      }
      return chunk
    } catch {
      return null
    }
  }

  /** Removes the watch, and returns the last unread bytes, at most as many as one read. Null when there are none. */
  end(): ConsoleOutput | null {
    this.close()
    try {
      // Even if it is quiet: the watch may not have reported the last write yet.
      const { size } = statSync(this.path)
      // The end of a flood is kept: it says why the Sandbox ended.
      const at = Math.max(this.offset - this.cut, size - READ_MAX_BYTES)
      return size <= at ? null : this.bytesFrom(at, size)
    } catch {
      return null
    }
  }

  /** Removes the watch. */
  close(): void {
    this.watcher?.close()
    this.watcher = null
  }

  /** As much of the file as one read returns. */
  private bytesFrom(at: number, size: number): ConsoleOutput {
    const bytes = Buffer.allocUnsafe(Math.min(READ_MAX_BYTES, size - at))
    const fd = openSync(this.path, "r")
    try {
      const filled = readSync(fd, bytes, 0, bytes.length, at)
      const offset = this.cut + at
      this.offset = offset + filled
      return { offset, bytes: bytes.subarray(0, filled) }
    } finally {
      closeSync(fd)
    }
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
