/** So many do something at a time; others wait for their turn, in order. */
export class Turns {
  #free: number
  readonly #waiting: Array<() => void> = []

  constructor(atATime: number) {
    this.#free = atATime
  }

  /** Resolves when it is the caller's turn, which lasts until it is disposed. */
  async take(): Promise<Disposable> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return {
      [Symbol.dispose]: () => {
        const next = this.#waiting.shift()
        if (next === undefined) this.#free += 1
        else next()
      }
    }
  }
}
