/** Takes bytes of a stream in lengths of the reader's choice. */
export class ByteQueue {
  readonly #source: AsyncIterator<Buffer>
  #held: Array<Buffer> = []
  #heldBytes = 0

  constructor(source: AsyncIterator<Buffer>) {
    this.#source = source
  }

  /** Null when the source ends before. Rejects as the source does. */
  async take(length: number): Promise<Buffer | null> {
    while (this.#heldBytes < length) {
      const { done, value } = await this.#source.next()
      if (done === true) return null
      this.#held.push(value)
      this.#heldBytes += value.length
    }
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held)
    this.#held = [all.subarray(length)]
    this.#heldBytes -= length
    return all.subarray(0, length)
  }

  /** Lets go of the source, which another reader may drain. */
  async release(): Promise<void> {
    await this.#source.return?.()
  }

  /** All that was not taken. @param cut Called when the source fails. */
  async *rest(cut: () => void): AsyncGenerator<Buffer> {
    yield* this.#held.filter(({ length }) => length > 0)
    this.#held = []
    try {
      while (true) {
        const { done, value } = await this.#source.next()
        if (done === true) return
        yield value
      }
    } catch (cause) {
      cut()
      throw cause
    }
  }
}
