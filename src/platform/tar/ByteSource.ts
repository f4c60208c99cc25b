/** A source of bytes that arrive in pieces and are read in any sizes. It buffers at most one piece. */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>
  #piece: Uint8Array = new Uint8Array()
  /** The bytes that were read so far. */
  taken = 0

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Fetches the next piece if the current one is used up. False at the end. */
  async #more(): Promise<boolean> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#pieces.next()
      if (done === true) return false
      this.#piece = value
    }
    return true
  }

  /** Reads exactly `count` bytes; fewer only at the end. Bytes of one piece are not copied. */
  async exactly(count: number): Promise<Uint8Array> {
    if (this.#piece.length >= count) return this.#cut(count)
    const all = new Uint8Array(count)
    let length = 0
    while (length < count && (await this.#more())) {
      const part = this.#cut(count - length)
      all.set(part, length)
      length += part.length
    }
    return all.subarray(0, length)
  }

  /** Reads the buffered bytes, at most `max`; null at the end. */
  async some(max: number): Promise<Uint8Array | null> {
    return (await this.#more()) ? this.#cut(max) : null
  }

  /** Skips `count` bytes. False when the source ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0; ) {
      const part = await this.some(left)
      if (part === null) return false
      left -= part.length
    }
    return true
  }

  /** Closes the source. */
  async end(): Promise<void> {
    await this.#pieces.return?.()
  }

  #cut(max: number): Uint8Array {
    const part = this.#piece.subarray(0, max)
    this.#piece = this.#piece.subarray(part.length)
    this.taken += part.length
    return part
  }
}
