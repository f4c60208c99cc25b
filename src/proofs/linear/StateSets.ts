/** Sets of states that a history may have led to, by number, closed under silent steps. Equal sets have one number. */
import type { Model } from "./Model.ts"

export class StateSets<S, C, A> {
  readonly #model: Model<S, C, A>
  readonly #numbers = new Map<string, number>()
  readonly #sets: Array<ReadonlyArray<S>> = []

  readonly #isPossible: (state: S) => boolean

  /** @param isPossible States for which it says no are left out. */
  constructor(model: Model<S, C, A>, isPossible: (state: S) => boolean) {
    this.#model = model
    this.#isPossible = isPossible
  }

  /** Null: the set is empty. */
  numberOf(states: Iterable<S>): number | null {
    const found = new Map<string, S>()
    const open = [...states]
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      const key = this.#model.keyOf(state)
      if (found.has(key) || !this.#isPossible(state)) continue
      found.set(key, state)
      open.push(...this.#model.silent(state))
    }
    if (found.size === 0) return null
    const key = [...found.keys()].sort().join("\n")
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#numbers.set(key, this.#sets.length)
    return this.#sets.push([...found.values()]) - 1
  }

  states(number: number): ReadonlyArray<S> {
    return this.#sets[number]!
  }
}
