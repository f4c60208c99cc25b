/**
 * A transport that is read at once, whatever its user does with the bytes, for streams that are no native sockets: it breaks the
 * circle that StallBreaker.ts describes.
 *
 * What is read ahead is bounded by the windows of HTTP/2 flow control; an agent that keeps to none is cut off.
 *
 * It is over with the other end's end, once that was read, and says nothing after it: while a stream is being shut down, Node's session ends the whole process
 * by an assertion when it writes to it (`JSStreamSocket.doWrite`), which it does as it ends.
 *
 * TLS gives its records one by one, however many came at once; each would be a piece of its own on all of the way to the client. Full ones
 * wait for those that came with them.
 */
import { Duplex } from "node:stream"

/** @source RFC 8446, 5.1 */
const FULL_RECORD_BYTES = 16 * 1024
/** What one read of a native socket gives at most. */
const TOGETHER_MAX_BYTES = 64 * 1024

export class EagerTransport extends Duplex {
  readonly #raw: Duplex
  #waiting: Array<Buffer> = []
  #waitingBytes = 0

  /** @param aheadMaxBytes More than the session's window, frame headers included. */
  constructor(raw: Duplex, aheadMaxBytes: number) {
    super({ allowHalfOpen: false })
    this.#raw = raw
    raw.on("data", (chunk: Buffer) => {
      const isFull = chunk.length === FULL_RECORD_BYTES
      // After all that the same look at the system's sockets brings.
      if (isFull && this.#waitingBytes === 0) setImmediate(this.#passOn)
      this.#waiting.push(chunk)
      this.#waitingBytes += chunk.length
      if (!isFull || this.#waitingBytes >= TOGETHER_MAX_BYTES) this.#passOn()
      if (this.readableLength > aheadMaxBytes) this.destroy(new Error("the agent sent more than it was allowed to"))
    })
    raw.on("end", () => {
      this.#passOn()
      this.push(null)
    })
    // Before any listener of the session's, which would shut it down.
    this.once("end", () => this.destroy())
    raw.on("error", (cause) => this.destroy(cause))
    raw.on("close", () => this.destroy())
  }

  readonly #passOn = (): void => {
    if (this.#waitingBytes === 0 || this.destroyed) return
    const together = this.#waiting.length === 1 ? this.#waiting[0] : Buffer.concat(this.#waiting, this.#waitingBytes)
    // Before it is pushed: whoever reads may write at once, and be answered within that.
    this.#waiting = []
    this.#waitingBytes = 0
    this.push(together)
  }

  override _read(): void {
    // Bytes come by themselves.
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (cause?: Error | null) => void): void {
    this.#raw.write(chunk, encoding, done)
  }

  /** A frame's head and its body, or what else came together, are one write, and over TLS no records of their own. */
  override _writev(
    chunks: ReadonlyArray<{ readonly chunk: Buffer; readonly encoding: BufferEncoding }>,
    done: (cause?: Error | null) => void
  ): void {
    this.#raw.cork()
    const last = chunks.length - 1
    for (const [at, { chunk, encoding }] of chunks.entries()) {
      if (at < last) this.#raw.write(chunk, encoding)
      else this.#raw.write(chunk, encoding, done)
    }
    this.#raw.uncork()
  }

  override _final(done: (cause?: Error | null) => void): void {
    this.#raw.end(() => done())
  }

  override _destroy(cause: Error | null, done: (cause?: Error | null) => void): void {
    this.#raw.destroy()
    done(cause)
  }
}
