/** Bytes that come in pieces, taken in the sizes that are wanted. What is ahead is one piece. */
export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>
  #piece: Uint8Array = new Uint8Array()
  /** Taken so far. */
  taken = 0

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  /** Exactly so many bytes; fewer only where they end. */
  async exactly(count: number): Promise<Uint8Array> {
    const first = (await this.some(count)) ?? new Uint8Array()
    if (first.length === count) return first
    const all = new Uint8Array(count)
    all.set(first)
    let length = first.length
    while (length < count) {
      const part = await this.some(count - length)
      if (part === null) break
      all.set(part, length)
      length += part.length
    }
    return all.subarray(0, length)
  }

  /** Of the next bytes what is at hand, at most so many; null at the end. */
  async some(max: number): Promise<Uint8Array | null> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#pieces.next()
      if (done === true) return null
      this.#piece = value
    }
    const part = this.#piece.subarray(0, max)
    this.#piece = this.#piece.subarray(part.length)
    this.taken += part.length
    return part
  }

  /** Nothing more is wanted. */
  async end(): Promise<void> {
    await this.#pieces.return?.()
  }

  /** False: they ended before. */
  async skip(count: number): Promise<boolean> {
    for (let left = count; left > 0; ) {
      const part = await this.some(left)
      if (part === null) return false
      left -= part.length
    }
    return true
  }
}
