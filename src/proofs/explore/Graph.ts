/** The edges of the explored product, by source: for questions about paths. Five bytes an edge. */
import { type By, everyBy } from "./Product.ts"

const firstEdges = 1 << 16

export class Graph {
  edges = 0
  /** The first edge of each expanded state, and the end of the last one's. */
  readonly #offsets: Array<number> = [0]
  #targets = new Uint32Array(firstEdges)
  #by = new Uint8Array(firstEdges)

  /** Of the next state in the order of their numbers. */
  add(successors: ReadonlyArray<{ readonly to: number; readonly by: By }>): void {
    for (const { to, by } of successors) {
      if (this.edges === this.#targets.length) {
        const targets = new Uint32Array(this.edges * 2)
        targets.set(this.#targets)
        this.#targets = targets
        const bys = new Uint8Array(this.edges * 2)
        bys.set(this.#by)
        this.#by = bys
      }
      this.#targets[this.edges] = to
      this.#by[this.edges++] = everyBy.indexOf(by)
    }
    this.#offsets.push(this.edges)
  }

  /** How many states have been expanded. */
  get expanded(): number {
    return this.#offsets.length - 1
  }

  get bytes(): number {
    return this.#targets.byteLength + this.#by.byteLength + this.#offsets.length * 8
  }

  /**
   * Marks the states from which a path of such edges leads to a marked one.
   *
   * @param marked One byte a state, 1: marked. Changed in place.
   */
  spreadBackward(marked: Uint8Array, by: ReadonlyArray<By>): void {
    const allowed = everyBy.map((one) => by.includes(one))
    const starts = new Uint32Array(marked.length + 1)
    const each = (visit: (from: number, to: number) => void) => {
      for (let from = 0; from < this.expanded; from++) {
        for (let edge = this.#offsets[from]!; edge < this.#offsets[from + 1]!; edge++) {
          if (allowed[this.#by[edge]!]) visit(from, this.#targets[edge]!)
        }
      }
    }
    each((_, to) => {
      starts[to + 1]!++
    })
    for (let state = 0; state < marked.length; state++) starts[state + 1]! += starts[state]!
    const sources = new Uint32Array(starts[marked.length]!)
    const next = starts.slice()
    each((from, to) => {
      sources[next[to]!++] = from
    })
    const waiting: Array<number> = []
    for (let state = 0; state < marked.length; state++) if (marked[state] === 1) waiting.push(state)
    for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
      for (let place = starts[state]!; place < starts[state + 1]!; place++) {
        const source = sources[place]!
        if (marked[source] === 1) continue
        marked[source] = 1
        waiting.push(source)
      }
    }
  }
}
