/** Lets a bounded number of calls through at once; the others wait in their order. */
export class Turnstile {
  private free: number
  private readonly waiting: Array<() => void> = []

  constructor(width: number) {
    this.free = width
  }

  async pass<A>(act: () => Promise<A>): Promise<A> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await act()
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.free++
      else next()
    }
  }
}
