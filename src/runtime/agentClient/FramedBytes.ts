/**
 * A readable of an agent's framed content, whose length is not known in advance: it fails when the answer ends before its end mark, or continues
 * after it.
 *
 * @source src/agent/files/framedContent.ts
 */
import { Readable } from "node:stream"
import { GuestUnavailable } from "../Guest.ts"

/** Bytes buffered for a slow reader before the answer is paused. */
const AHEAD_BYTES = 256 * 1024
const HEAD_BYTES = 4

export class FramedBytes extends Readable {
  readonly #source: Readable
  readonly #breach: (rule: string) => GuestUnavailable
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #headBytes = 0
  #frameBytes = 0
  #isComplete = false

  /**
   * The owner of the answer's stream closes it; destroying this object only stops the reading.
   *
   * @param breach Makes the error for a breach of the protocol, which ends the session.
   */
  constructor(source: Readable, breach: (rule: string) => GuestUnavailable) {
    super({ highWaterMark: AHEAD_BYTES })
    this.#source = source
    this.#breach = breach
    // The reader gets an error as well; without a listener an error before any reader would end the process.
    this.on("error", () => {})
    source.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose)
    if (source.readableEnded) this.#onEnd()
    else if (source.destroyed) this.#onClose()
  }

  override _read(): void {
    if (this.#source.isPaused()) this.#source.resume()
  }

  override _destroy(cause: Error | null, done: (cause?: Error | null) => void): void {
    this.#source.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose)
    done(cause)
  }

  readonly #onData = (chunk: Buffer): void => {
    let isFull = false
    for (let rest = chunk; rest.byteLength > 0; ) {
      if (this.#isComplete) {
        this.destroy(this.#breach("content must end with its end mark"))
        return
      }
      if (this.#frameBytes > 0) {
        const content = rest.subarray(0, this.#frameBytes)
        rest = rest.subarray(content.byteLength)
        this.#frameBytes -= content.byteLength
        isFull = !this.push(content)
        continue
      }
      const taken = rest.copy(this.#head, this.#headBytes)
      rest = rest.subarray(taken)
      this.#headBytes += taken
      if (this.#headBytes < HEAD_BYTES) break
      this.#headBytes = 0
      this.#frameBytes = this.#head.readUInt32BE()
      this.#isComplete = this.#frameBytes === 0
    }
    if (isFull) this.#source.pause()
  }

  readonly #onEnd = (): void => {
    if (this.#isComplete) this.push(null)
    else this.#broken()
  }

  readonly #onClose = (): void => {
    if (!this.#source.readableEnded) this.#broken()
  }

  #broken(): void {
    this.destroy(new GuestUnavailable({ message: "The Sandbox's agent broke off a stream", fault: "lost" }))
  }
}
