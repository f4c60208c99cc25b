/** Calls with the same key go one after the other, in the order in which they came; a key that nobody holds takes no memory. */
export class Turns {
  private readonly last = new Map<string, Promise<void>>()

  /** Resolves when it is this caller's turn, with what ends it. */
  async hold(key: string): Promise<() => void> {
    const before = this.last.get(key)
    let end = () => {}
    const turn = new Promise<void>((resolve) => {
      end = () => {
        if (this.last.get(key) === turn) this.last.delete(key)
        resolve()
      }
    })
    this.last.set(key, turn)
    await before
    return end
  }

  async pass<A>(key: string, act: () => Promise<A>): Promise<A> {
    const end = await this.hold(key)
    try {
      return await act()
    } finally {
      end()
    }
  }

  isHeld(key: string): boolean {
    return this.last.has(key)
  }
}
