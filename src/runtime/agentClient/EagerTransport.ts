/**
 * A transport that is read at once, whatever its user does with the bytes, for streams that are no native sockets: it breaks the
 * circle that StallBreaker.ts describes.
 *
 * What is read ahead is bounded by the windows of HTTP/2 flow control; an agent that keeps to none is cut off.
 */
import { Duplex } from "node:stream"

export class EagerTransport extends Duplex {
  readonly #raw: Duplex

  /** @param aheadMaxBytes More than the session's window, frame headers included. */
  constructor(raw: Duplex, aheadMaxBytes: number) {
    super({ allowHalfOpen: false })
    this.#raw = raw
    raw.on("data", (chunk: Buffer) => {
      this.push(chunk)
      if (this.readableLength > aheadMaxBytes) this.destroy(new Error("the agent sent more than it was allowed to"))
    })
    raw.on("end", () => this.push(null))
    raw.on("error", (cause) => this.destroy(cause))
    raw.on("close", () => this.destroy())
  }

  override _read(): void {
    // Bytes come by themselves.
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (cause?: Error | null) => void): void {
    this.#raw.write(chunk, encoding, done)
  }

  override _final(done: (cause?: Error | null) => void): void {
    this.#raw.end(() => done())
  }

  override _destroy(cause: Error | null, done: (cause?: Error | null) => void): void {
    this.#raw.destroy()
    done(cause)
  }
}
