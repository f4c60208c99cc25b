/**
 * The effects of one run, numbered: everything that leaves the service, or reaches it, at which its end can matter. An
 * effect is named by what it is and how often that came before (`after commit BOOT #2`), not by its place in the order:
 * two connections of the service may take turns otherwise in a repetition.
 */
export class Effects {
  /** In the order in which they came. */
  readonly names: Array<string> = []
  readonly #counts = new Map<string, number>()
  readonly #target: string | null
  /** Counts down to a second strike, while the next service begins; null: there is none. */
  #leftToSecond: number | null
  #isCounting = false
  #wasStruck = false

  /**
   * @param target The effect at which something happens; null: at none.
   * @param second It happens again at so many effects after it; null: it does not.
   */
  constructor(target: string | null, second: number | null) {
    this.#target = target
    this.#leftToSecond = second
  }

  begin(): void {
    this.#isCounting = true
  }

  end(): void {
    this.#isCounting = false
  }

  get wasStruck(): boolean {
    return this.#wasStruck
  }

  /** True: this is the target, and it was not met before; or the second one. */
  strikes(what: string): boolean {
    if (!this.#isCounting) return false
    if (this.#wasStruck) return this.#leftToSecond !== null && --this.#leftToSecond === 0
    const count = (this.#counts.get(what) ?? 0) + 1
    this.#counts.set(what, count)
    const name = `${what} #${count}`
    this.names.push(name)
    this.#wasStruck = name === this.#target
    return this.#wasStruck
  }
}
