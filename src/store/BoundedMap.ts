/** A map of bounded size, ordered by last write. When it is full, a new entry evicts the oldest. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #max: number
  /** The key written last. It is in its place already, and a `Map` without deletes allocates no new table (see Gathering.ts). */
  #last: K | null = null

  constructor(max: number) {
    this.#max = max
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  set(key: K, value: V): void {
    if (key !== this.#last) {
      this.#entries.delete(key)
      this.#last = key
    }
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#max) return
    for (const first of this.#entries.keys()) {
      this.#entries.delete(first)
      return
    }
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#entries.entries()
  }
}
