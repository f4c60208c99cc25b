/** At most so many entries, in the order in which they were set last; the first makes room for a new one. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #max: number
  /** Set last: it stands where it belongs, and a `Map` from which nothing is deleted makes no new table (see Gathering.ts). */
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
