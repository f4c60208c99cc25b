/** A readable of an exact number of bytes of an agent's answer: it fails when the answer is shorter or longer. */
import { Readable } from "node:stream"
import { GuestUnavailable } from "../Guest.ts"

/** Bytes buffered for a slow reader before the answer is paused. */
const AHEAD_BYTES = 256 * 1024

export class ExactBytes extends Readable {
  readonly #source: Readable
  #left: number

  /** The owner of the answer's stream closes it; destroying this object only stops the reading. */
  constructor(source: Readable, bytes: number) {
    super({ highWaterMark: AHEAD_BYTES })
    this.#source = source
    this.#left = bytes
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
    this.#left -= chunk.byteLength
    if (this.#left < 0) {
      this.destroy(
        new GuestUnavailable({ message: "The Sandbox's agent sent more than it had announced", fault: "protocol" })
      )
    } else if (!this.push(chunk)) this.#source.pause()
  }

  readonly #onEnd = (): void => {
    if (this.#left === 0) this.push(null)
    else this.destroy(new GuestUnavailable({ message: "The file was cut while it was being read", fault: "lost" }))
  }

  readonly #onClose = (): void => {
    if (!this.#source.readableEnded) {
      this.destroy(new GuestUnavailable({ message: "The Sandbox's agent broke off a stream", fault: "lost" }))
    }
  }
}
