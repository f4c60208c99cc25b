/** A source of bytes that arrive in pieces and are read in any sizes. It buffers at most one piece. */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>
  #piece: Buffer = Buffer.alloc(0)

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Fetches the next piece if the current one is used up. False at the end. */
  async #more(): Promise<boolean> {
    while (this.#piece.byteLength === 0) {
      const { done, value } = await this.#pieces.next()
      if (done) return false
      this.#piece = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    return true
  }

  /** Reads exactly `count` bytes; fewer only at the end. */
  async exactly(count: number): Promise<Buffer> {
    if (this.#piece.byteLength >= count) return this.#cut(count)
    const parts: Array<Buffer> = []
    let length = 0
    while (length < count && (await this.#more())) {
      const part = this.#cut(count - length)
      parts.push(part)
      length += part.byteLength
    }
    return Buffer.concat(parts, length)
  }

  /** Reads the buffered bytes, at most `max`; null at the end. */
  async some(max: number): Promise<Buffer | null> {
    return (await this.#more()) ? this.#cut(max) : null
  }

  /** Skips `count` bytes. False when the source ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0; ) {
      const part = await this.some(left)
      if (part === null) return false
      left -= part.byteLength
    }
    return true
  }

  /** Closes the source. */
  async end(): Promise<void> {
    await this.#pieces.return?.()
  }

  #cut(max: number): Buffer {
    const part = this.#piece.subarray(0, max)
    this.#piece = this.#piece.subarray(part.byteLength)
    return part
  }
}
