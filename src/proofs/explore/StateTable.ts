/**
 * The explored product states, each a row of small numbers, found again by their content: no two states are taken for the same by accident, as
 * hashed keys would. A state costs its words, and fourteen bytes for its place, its parent and the step that led to it.
 */
const firstRows = 1 << 14
const noRow = -1

const grown = <A extends Uint32Array | Uint16Array>(array: A, length: number): A => {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.set(array)
  return larger
}

export class StateTable {
  readonly words: number
  /** Number of states. */
  size = 0
  #rows: Uint32Array
  #parents: Uint32Array
  #steps: Uint16Array
  /** Open addressing, at most half full. */
  #places: Int32Array

  constructor(words: number) {
    this.words = words
    this.#rows = new Uint32Array(firstRows * words)
    this.#parents = new Uint32Array(firstRows)
    this.#steps = new Uint16Array(firstRows)
    this.#places = new Int32Array(firstRows * 2).fill(noRow)
  }

  #hash(row: ArrayLike<number>, from: number): number {
    let hash = 0x811c9dc5
    for (let word = 0; word < this.words; word++) {
      hash = Math.imul(hash ^ row[from + word]!, 0x01000193)
      hash ^= hash >>> 15
    }
    hash = Math.imul(hash ^ (hash >>> 13), 0x5bd1e995)
    return (hash ^ (hash >>> 16)) >>> 0
  }

  #isAt(state: number, row: ArrayLike<number>): boolean {
    const from = state * this.words
    for (let word = 0; word < this.words; word++) if (this.#rows[from + word] !== row[word]) return false
    return true
  }

  #grow() {
    const rows = this.#parents.length * 2
    this.#rows = grown(this.#rows, rows * this.words)
    this.#parents = grown(this.#parents, rows)
    this.#steps = grown(this.#steps, rows)
    this.#places = new Int32Array(rows * 2).fill(noRow)
    const mask = this.#places.length - 1
    for (let state = 0; state < this.size; state++) {
      let place = this.#hash(this.#rows, state * this.words) & mask
      while (this.#places[place] !== noRow) place = (place + 1) & mask
      this.#places[place] = state
    }
  }

  /** The number of the state; a new state gets the next number, `parent` and `step` (its place among the parent's steps). */
  add(row: ArrayLike<number>, parent: number, step: number): number {
    const mask = this.#places.length - 1
    let place = this.#hash(row, 0) & mask
    for (let state = this.#places[place]!; state !== noRow; state = this.#places[place]!) {
      if (this.#isAt(state, row)) return state
      place = (place + 1) & mask
    }
    if (this.size === this.#parents.length) {
      this.#grow()
      return this.add(row, parent, step)
    }
    const state = this.size++
    this.#rows.set(row, state * this.words)
    this.#parents[state] = parent
    this.#steps[state] = step
    this.#places[place] = state
    return state
  }

  row(state: number): ReadonlyArray<number> {
    return Array.from(this.#rows.subarray(state * this.words, (state + 1) * this.words))
  }

  parent(state: number): number {
    return this.#parents[state]!
  }

  step(state: number): number {
    return this.#steps[state]!
  }

  get bytes(): number {
    return this.#rows.byteLength + this.#parents.byteLength + this.#steps.byteLength + this.#places.byteLength
  }
}
