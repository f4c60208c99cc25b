/** A semaphore: a bounded number of callers run concurrently, and the others wait in order of arrival. */
export class Turns {
  #free: number
  readonly #waiting: Array<() => void> = []

  constructor(atATime: number) {
    this.#free = atATime
  }

  /** Resolves once the caller may run; disposing the result lets the next one run. */
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
