/** Lets a bounded number of calls through at once; the others wait in their order. */
export class Turnstile {
  private free: number
  private readonly waiting: Array<() => void> = []

  constructor(width: number) {
    this.free = width
  }

  /** @param wanted Aborted while the call still waits: it leaves, and rejects with the reason; `act` is not called. */
  async pass<A>(act: () => Promise<A>, wanted?: AbortSignal): Promise<A> {
    wanted?.throwIfAborted()
    if (this.free > 0) this.free--
    else await this.turn(wanted)
    try {
      return await act()
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.free++
      else next()
    }
  }

  private turn(wanted: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(goOn), 1)
        reject(wanted!.reason)
      }
      const goOn = () => {
        wanted?.removeEventListener("abort", leave)
        resolve()
      }
      wanted?.addEventListener("abort", leave)
      this.waiting.push(goOn)
    })
  }
}
