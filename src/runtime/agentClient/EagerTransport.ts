/**
 * A transport that is always read immediately, independently of its consumer, for streams that are not native sockets: it prevents the deadlock that
 * StallBreaker.ts describes.
 *
 * HTTP/2 flow control bounds the bytes read ahead; an agent that violates it is cut off.
 *
 * It ends when the peer's end was read, and writes nothing afterwards. While a stream is being shut down, a write by Node's session aborts the whole
 * process by an assertion (`JSStreamSocket.doWrite`), and the session writes as it ends.
 *
 * TLS delivers records one by one, even if several arrived together; each would travel separately all the way to the client. Full records wait for
 * those that arrived with them.
 */
import { Duplex } from "node:stream"

/** @source RFC 8446, 5.1 */
const FULL_RECORD_BYTES = 16 * 1024
/** The most that one read of a native socket delivers. */
const TOGETHER_MAX_BYTES = 64 * 1024

export class EagerTransport extends Duplex {
  readonly #raw: Duplex
  #waiting: Array<Buffer> = []
  #waitingBytes = 0

  /** @param aheadMaxBytes More than the session's window, including frame headers. */
  constructor(raw: Duplex, aheadMaxBytes: number) {
    super({ allowHalfOpen: false })
    this.#raw = raw
    raw.on("data", (chunk: Buffer) => {
      const isFull = chunk.length === FULL_RECORD_BYTES
      // After all records that the same poll of the sockets delivers.
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
    // Registered before any listener of the session, which would shut it down.
    this.once("end", () => this.destroy())
    raw.on("error", (cause) => this.destroy(cause))
    raw.on("close", () => this.destroy())
  }

  readonly #passOn = (): void => {
    if (this.#waitingBytes === 0 || this.destroyed) return
    const together = this.#waiting.length === 1 ? this.#waiting[0] : Buffer.concat(this.#waiting, this.#waitingBytes)
    // Reset before the push: the reader may write and be answered within it.
    this.#waiting = []
    this.#waitingBytes = 0
    this.push(together)
  }

  override _read(): void {
    // The raw stream pushes by itself.
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (cause?: Error | null) => void): void {
    this.#raw.write(chunk, encoding, done)
  }

  /** Writes a frame's head, its body and all that came with them as one, so that TLS makes no separate records. */
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
