/**
 * Reads one pipe of a process into its OutputBuffer. Pauses while the buffer is full, so that the writer blocks.
 *
 * After the process exited, it finds the end of the process's own output: end of file, or a pipe that stayed empty for one whole turn of the event
 * loop (a background child may hold it open), or as many bytes as a pipe can ever hold. From then on it reads and discards, so that background
 * children do not die of SIGPIPE. If a process ends before its pipe is watched, the pipe is read immediately.
 */
import { closeSync, readSync } from "node:fs"
import { Socket } from "node:net"
import type { OutputBuffer } from "./OutputBuffer.ts"

/** The size of one read: the capacity of a pipe unless its owner enlarged it. */
const READ_BYTES = 64 * 1024
/** The largest pipe without privileges. @source /proc/sys/fs/pipe-max-size */
const PIPE_MAX_BYTES = 1024 * 1024

/** Every read uses this buffer and is copied out before the next read, so that reads allocate nothing. */
const landing = Buffer.allocUnsafeSlow(READ_BYTES)

export class OutputReader {
  /** True when all of the process's own output was read. */
  drained = false
  private readonly readFd: number
  private socket: Socket | null = null
  private readonly buffer: OutputBuffer
  private readonly onProgress: () => void
  private destroyed = false
  private paused = false
  private exited = false
  private readSinceExit = 0
  private turns = 0

  /** `onProgress` is called after every read and when the stream is drained. */
  constructor(readFd: number, buffer: OutputBuffer, onProgress: () => void) {
    this.readFd = readFd
    this.buffer = buffer
    this.onProgress = onProgress
  }

  /** Watches the pipe and reads whenever data arrives. */
  watch(): void {
    if (this.socket !== null || this.destroyed) return
    this.socket = new Socket({
      fd: this.readFd,
      readable: true,
      writable: false,
      onread: { buffer: landing, callback: (bytes) => this.take(bytes) }
    })
    this.socket
      .on("end", () => this.finish())
      .on("close", () => this.finish())
      .on("error", () => this.finish())
    this.socket.resume()
  }

  /** Continues to read if the buffer has room again. */
  wake(): void {
    if (!this.paused || this.buffer.isFull(READ_BYTES)) return
    this.paused = false
    this.socket?.resume()
    if (this.exited) this.watchForEmpty()
  }

  /** The process itself has ended. */
  processExited(): void {
    this.exited = true
    if (this.socket === null) {
      const left = this.readNow()
      if (left !== "more") this.finish()
      if (left === "closed") return
      this.watch()
    }
    this.watchForEmpty()
  }

  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    if (this.socket === null) closeSync(this.readFd)
    else this.socket.destroy()
  }

  /** Reads the rest of an exited process's output. `open`: all of it was read, but a background child may still write. */
  private readNow(): "closed" | "open" | "more" {
    try {
      while (!this.buffer.isFull(READ_BYTES)) {
        const bytes = readSync(this.readFd, landing, 0, READ_BYTES, null)
        if (bytes === 0) return "closed"
        this.buffer.append(landing.subarray(0, bytes))
        this.readSinceExit += bytes
        if (this.readSinceExit >= PIPE_MAX_BYTES) return "open"
      }
      return "more"
    } catch (cause) {
      return (cause as NodeJS.ErrnoException).code === "EAGAIN" ? "open" : "more"
    }
  }

  private take(bytes: number): boolean {
    if (this.drained) return true
    this.turns = 0
    this.buffer.append(landing.subarray(0, bytes))
    if (this.exited) {
      this.readSinceExit += bytes
      if (this.readSinceExit >= PIPE_MAX_BYTES) {
        this.finish()
        return true
      }
    }
    const full = this.buffer.isFull(READ_BYTES)
    if (full) {
      this.paused = true
      // Returning false stops the handle; the stream must be paused too, or `resume` does nothing.
      this.socket?.pause()
    }
    this.onProgress()
    return !full
  }

  /** Waits two turns of the event loop without a read: the pipe was polled in between and was empty. */
  private watchForEmpty(): void {
    if (this.drained || this.paused) return
    this.turns = 0
    const turn = () => {
      if (this.drained || this.paused) return
      if (++this.turns > 2) this.finish()
      else setImmediate(turn)
    }
    setImmediate(turn)
  }

  private finish(): void {
    if (this.drained) return
    this.drained = true
    this.onProgress()
  }
}
