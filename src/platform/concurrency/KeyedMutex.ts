/** A mutex for each key, for code without Effect: calls with the same key run in order. A key that nobody holds takes no memory. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  /** Resolves with the release, when the caller holds the key. */
  async lock(key: string): Promise<() => void> {
    const before = this.#last.get(key)
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = () => {
        if (this.#last.get(key) === held) this.#last.delete(key)
        resolve()
      }
    })
    this.#last.set(key, held)
    await before
    return release
  }

  async run<A>(key: string, act: () => Promise<A>): Promise<A> {
    const release = await this.lock(key)
    try {
      return await act()
    } finally {
      release()
    }
  }

  isLocked(key: string): boolean {
    return this.#last.has(key)
  }
}
