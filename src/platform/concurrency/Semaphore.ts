/**
 * A semaphore for code without Effect: a bounded number of holders; the others wait in order (FIFO).
 *
 * Code with Effect uses Effect's own. The agent has this one in its bundle, so it imports nothing.
 */
export class Semaphore {
  #free: number
  readonly #waiting: Array<() => void> = []

  constructor(permits: number) {
    this.#free = permits
  }

  /** A call waits for a permit. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /**
   * Resolves when the caller holds a permit, until it disposes of the result.
   *
   * @param wanted Aborted while the call still waits: it leaves the queue and rejects with the reason.
   */
  async acquire(wanted?: AbortSignal): Promise<Disposable> {
    await this.#enter(wanted)
    return { [Symbol.dispose]: () => this.#release() }
  }

  /** Calls `act` with a permit: before `run` returns, if one is free; never, if the call leaves the queue. */
  async run<A>(act: () => Promise<A>, wanted?: AbortSignal): Promise<A> {
    const turn = this.#enter(wanted)
    if (turn !== null) await turn
    try {
      return await act()
    } finally {
      this.#release()
    }
  }

  /** The same, but only if a permit is free; null otherwise. */
  runIfFree<A>(act: () => Promise<A>): Promise<A> | null {
    return this.#free === 0 ? null : this.run(act)
  }

  /** Null: a permit was free. */
  #enter(wanted: AbortSignal | undefined): Promise<void> | null {
    wanted?.throwIfAborted()
    if (this.#free === 0) return this.#turn(wanted)
    this.#free--
    return null
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }

  #turn(wanted: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(goOn), 1)
        reject(wanted!.reason)
      }
      const goOn = () => {
        wanted?.removeEventListener("abort", leave)
        resolve()
      }
      wanted?.addEventListener("abort", leave)
      this.#waiting.push(goOn)
    })
  }
}
