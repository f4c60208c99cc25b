/** Bytes that come in pieces, taken in the sizes that are wanted. What is ahead is one piece. */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>
  #piece: Buffer = Buffer.alloc(0)

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Without a piece at hand, the next one. False: there is none. */
  async #more(): Promise<boolean> {
    while (this.#piece.byteLength === 0) {
      const { done, value } = await this.#pieces.next()
      if (done) return false
      this.#piece = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
    return true
  }

  /** Exactly so many bytes; fewer only where they end. */
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

  /** Of the next bytes what is at hand, at most so many; null at the end. */
  async some(max: number): Promise<Buffer | null> {
    return (await this.#more()) ? this.#cut(max) : null
  }

  /** False: they ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0; ) {
      const part = await this.some(left)
      if (part === null) return false
      left -= part.byteLength
    }
    return true
  }

  /** Ends the pieces. */
  async end(): Promise<void> {
    await this.#pieces.return?.()
  }

  #cut(max: number): Buffer {
    const part = this.#piece.subarray(0, max)
    this.#piece = this.#piece.subarray(part.byteLength)
    return part
  }
}
