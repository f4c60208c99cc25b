/**
 * Explores a product breadth-first, to a depth, to a limit or to its end, and checks the invariants in each state and at each edge; then the
 * liveness over what was explored. A path to a violation is a shortest one.
 *
 * Which fields of the contexts matter is found by watching: a first walk over whole contexts records what is read; then contexts are reduced to that. A
 * read of any other field makes everything explored so far void: it begins again, with that field.
 */
import { Graph } from "./Graph.ts"
import type { Product, Step } from "./Product.ts"
import { Reads } from "./Reads.ts"
import { StateTable } from "./StateTable.ts"
import { type Row, Steps, type Successor } from "./Steps.ts"

/** States of the first walk. */
const surveyed = 400
const lookEvery = 256
/** Of liveness: at most so many goals. */
const toBit = 16
const restartsMax = 40

export interface Limits {
  /** Steps from the first state. */
  readonly depth?: number
  /** From the last beginning on. */
  readonly seconds?: number
  /** Of states and edges. */
  readonly bytes?: number
  readonly signal?: AbortSignal
}

export interface Progress {
  readonly states: number
  readonly expanded: number
  readonly edges: number
  /** Of the states that are being expanded. */
  readonly depth: number
  readonly seconds: number
}

/** A state with the step that led to it; the first has none. */
export interface PathStep {
  readonly step: Step | null
  readonly row: Row
  /** The actors of the state. */
  readonly actors: ReadonlyArray<PathActor>
}

/** An actor as it was at a place of a path: its context has the fields that are read. */
export interface PathActor {
  readonly name: string
  readonly kind: string
  readonly value: string
  readonly context: Readonly<Record<string, unknown>>
}

export interface Violation {
  readonly sentence: string
  readonly detail: string
  readonly depth: number
  readonly path: ReadonlyArray<PathStep>
}

export interface Explored {
  readonly product: string
  readonly states: number
  readonly edges: number
  /** Every state of this depth or less was expanded. */
  readonly depth: number
  readonly seconds: number
  /** Why it ended. "exhausted": there are no more states. */
  readonly end: "exhausted" | "depth" | "time" | "memory" | "stopped" | "violation"
  /** Local states of single actors. */
  readonly locals: number
  /** By kind, the fields of the context that tell states apart. */
  readonly fields: Readonly<Record<string, ReadonlyArray<string>>>
  readonly restarts: number
  /** The machines' transitions that were taken, and that they declare, as `machine state EVENT target`. */
  readonly taken: ReadonlySet<string>
  readonly declared: ReadonlySet<string>
  readonly violations: ReadonlyArray<Violation>
}

class Exploration<W> {
  readonly steps: Steps<W>
  readonly table: StateTable
  readonly graph = new Graph()
  readonly #product: Product<W>
  readonly #reads: Reads
  readonly #began = performance.now()
  /** By state: of which liveness it is in `from` (low bits) and in `to` (from bit 16). */
  readonly #goals: Array<number> = []
  /** The number of the first state of each depth. */
  readonly #levels: Array<number> = [0]
  readonly violations: Array<Violation> = []

  constructor(product: Product<W>, reads: Reads) {
    this.#product = product
    this.#reads = reads
    this.steps = new Steps(product, reads)
    this.table = new StateTable(this.steps.names.length)
    const first = this.steps.first()
    this.table.add(first, 0, 0)
    this.#checkState(0, first)
  }

  get progress(): Progress {
    return {
      states: this.table.size,
      expanded: this.graph.expanded,
      edges: this.graph.edges,
      depth: this.#levels.length - 1,
      seconds: (performance.now() - this.#began) / 1000
    }
  }

  #endBy({ depth, seconds, bytes, signal }: Limits): Explored["end"] | null {
    if (this.violations.length > 0) return "violation"
    const { expanded, ...now } = this.progress
    if (expanded === this.table.size) return "exhausted"
    if (depth !== undefined && now.depth > depth) return "depth"
    if (expanded % lookEvery !== 0) return null
    if (signal?.aborted === true) return "stopped"
    if (seconds !== undefined && now.seconds > seconds) return "time"
    return bytes !== undefined && this.table.bytes + this.graph.bytes > bytes ? "memory" : null
  }

  /** Null: a field was read that contexts do not have. */
  async run(limits: Limits, tell: (progress: Progress) => void): Promise<Explored["end"] | null> {
    let levelEnd = 1
    while (true) {
      const state = this.graph.expanded
      if (state === levelEnd) {
        this.#levels.push(state)
        levelEnd = this.table.size
      }
      const end = this.#endBy(limits)
      if (end !== null) return end
      this.#expand(state)
      if (this.#reads.missed.size > 0) return null
      if (state % lookEvery === 0) {
        tell(this.progress)
        await new Promise(setImmediate)
      }
    }
  }

  /** The first so many states, as far as there are any. */
  expand(statesMax: number) {
    while (this.graph.expanded < Math.min(statesMax, this.table.size)) this.#expand(this.graph.expanded)
  }

  #expand(state: number) {
    const row = this.table.row(state)
    const edges: Array<{ readonly to: number; readonly by: Step["by"] }> = []
    const before = this.steps.view(row)
    for (const [index, successor] of this.steps.of(row).entries()) {
      const isNew = this.table.size
      const to = this.table.add(successor.row, state, index)
      if (to !== state) edges.push({ to, by: successor.by })
      if (to === isNew) this.#checkState(to, successor.row)
      if (successor.deliveries.length === 0 && to === state) continue
      const after = this.steps.view(successor.plain)
      for (const { sentence, broken } of this.#product.edges) {
        const detail = broken(before, successor, after)
        if (detail !== null) this.#violate(sentence, detail, this.pathTo(state, successor))
      }
    }
    this.graph.add(edges)
  }

  #checkState(state: number, row: Row) {
    const view = this.steps.view(row)
    let bits = 0
    for (const [index, { from, to }] of this.#product.liveness.entries()) {
      if (to(view)) bits |= 1 << (index + toBit)
      else if (from(view)) bits |= 1 << index
    }
    this.#goals.push(bits)
    for (const { sentence, broken } of this.#product.states) {
      const detail = broken(view)
      if (detail !== null) this.#violate(sentence, detail, this.pathTo(state))
    }
  }

  #violate(sentence: string, detail: string, path: ReadonlyArray<PathStep>) {
    if (this.violations.some((known) => known.sentence === sentence)) return
    this.violations.push({ sentence, detail, depth: path.length - 1, path })
  }

  /**
   * The steps to a state, and then `last`. Actors that are alike keep their names on the way, and counters their values: each step is looked for again
   * from the state before it as it was, not from its canonical form.
   */
  pathTo(state: number, last: Successor | null = null): ReadonlyArray<PathStep> {
    const rows: Array<{ readonly row: Row; readonly label: string | null }> = []
    if (last !== null) rows.push({ row: last.row, label: last.label })
    for (let at = state; at !== 0; at = this.table.parent(at)) rows.push({ row: this.table.row(at), label: null })
    const path: Array<PathStep> = [this.#pathStep(null, this.table.row(0))]
    for (const { row, label } of rows.reverse()) {
      const fitting = this.steps
        .of(path.at(-1)!.row)
        .filter((step) => row.every((word, place) => step.row[place] === word))
      // The label names an actor, whose name may differ here.
      const found = fitting.find((step) => step.label === label) ?? fitting[0]
      path.push(this.#pathStep(found ?? last, found?.plain ?? row))
    }
    return path
  }

  #pathStep(step: Step | null, row: Row): PathStep {
    return { step, row, actors: this.steps.actorsIn(row) }
  }

  /** What was not expanded may lead anywhere. */
  checkLiveness() {
    for (const [index, { sentence, by }] of this.#product.liveness.entries()) {
      const has = (state: number, bit: number) => (this.#goals[state]! & (1 << bit)) !== 0
      const marked = new Uint8Array(this.table.size)
      for (let state = 0; state < marked.length; state++) {
        if (state >= this.graph.expanded || has(state, index + toBit)) marked[state] = 1
      }
      this.graph.spreadBackward(marked, by)
      const stuck = marked.findIndex((isMarked, state) => isMarked === 0 && has(state, index))
      if (stuck >= 0) this.#violate(sentence, "No fair path leads on from here.", this.pathTo(stuck))
    }
  }
}

/** Records what is read in the first states. */
const survey = <W>(product: Product<W>, reads: Reads, statesMax: number) => {
  const exploration = new Exploration(product, reads)
  exploration.expand(statesMax)
  reads.reduce()
}

const ofExploration = <W>(exploration: Exploration<W>, product: Product<W>, reads: Reads, restarts: number) => {
  const { states, edges, depth, seconds } = exploration.progress
  return {
    product: product.name,
    states,
    edges,
    seconds,
    depth: depth - 1,
    locals: exploration.steps.locals.size,
    fields: Object.fromEntries([...reads.contexts].map(([kind, fields]) => [kind, [...fields].sort()])),
    restarts,
    taken: exploration.steps.locals.taken,
    declared: exploration.steps.locals.declared,
    violations: exploration.violations
  }
}

/**
 * @param tell Called now and then.
 * @param surveyedMax How many states the first walk sees.
 */
export const explore = async <W>(
  product: Product<W>,
  limits: Limits,
  tell: (progress: Progress) => void = () => {},
  surveyedMax = surveyed
): Promise<Explored & { readonly steps: Steps<W> }> => {
  const reads = new Reads()
  survey(product, reads, surveyedMax)
  for (let restarts = 0; ; restarts++) {
    const exploration = new Exploration(product, reads)
    const end = await exploration.run(limits, tell)
    if (end !== null && end !== "violation") exploration.checkLiveness()
    if (end !== null && reads.missed.size === 0) {
      return {
        ...ofExploration(exploration, product, reads, restarts),
        end: exploration.violations.length > 0 ? "violation" : end,
        steps: exploration.steps
      }
    }
    if (restarts === restartsMax) throw new Error(`Each exploration reads other fields: ${[...reads.missed]}.`)
    reads.reduce()
  }
}
