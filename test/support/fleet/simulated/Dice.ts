/** Random numbers that a seed repeats. @source mulberry32 */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  one<A>(list: ReadonlyArray<A>): A {
    return list[Math.floor(this.next() * list.length)]!
  }

  /** Each order is as likely as any other. */
  shuffled<A>(list: ReadonlyArray<A>): ReadonlyArray<A> {
    const all = [...list]
    for (let at = all.length - 1; at > 0; at--) {
      const other = this.between(0, at)
      ;[all[at], all[other]] = [all[other]!, all[at]!]
    }
    return all
  }

  /** By weight. */
  of<A extends string>(weights: Readonly<Record<A, number>>): A {
    const names = Object.keys(weights) as Array<A>
    const all = names.map((name) => [name, weights[name]] as const)
    let left = this.next() * all.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of all) {
      left -= weight
      if (left < 0) return name
    }
    return all[all.length - 1]![0]
  }

  /** A separate generator, so that its user does not change the numbers of others. */
  fork(): Dice {
    return new Dice(Math.floor(this.next() * 2 ** 32))
  }
}
