/**
 * Whether some sequence of the calls explains a history: each call takes effect between its begin and its answer, and each answer is the
 * specification's.
 *
 * The search is that of Wing and Gong, with Lowe's memory of what was tried (which calls are done, in which states), as Knossos and
 * Porcupine have it; here a memory holds a set of states, because specifications may be nondeterministic.
 *
 * @source J. M. Wing, C. Gong, "Testing and verifying concurrent objects", 1993; G. Lowe, "Testing for linearizability", 2017
 */
import type { Call, History, Model } from "./Model.ts"
import { StateSets } from "./StateSets.ts"

/** A moment of a call, where the search has placed it. */
export interface Placed<S, C, A> {
  readonly call: Call<C, A>
  readonly moment: number
  /** The states that are possible after it. */
  readonly states: ReadonlyArray<S>
}

export type Verdict<S, C, A> = (
  | { readonly is: "linearizable" }
  /** No order explains it. `next`: the moments of which one would have to follow on `order`, and none can. */
  | { readonly is: "refused"; readonly next: ReadonlyArray<{ readonly call: Call<C, A>; readonly moment: number }> }
  /** The limits were reached. */
  | { readonly is: "undecided" }
) & {
  /** The longest order that was found. */
  readonly order: ReadonlyArray<Placed<S, C, A>>
  /** How many combinations of calls and states were seen. */
  readonly seen: number
}

export interface SearchLimits {
  readonly msMax: number
  /** Of remembered combinations; each is about 100 bytes. */
  readonly seenMax: number
}

const usualLimits: SearchLimits = { msMax: 60_000, seenMax: 5_000_000 }
const looksAtClockEvery = 256

interface Entry<C, A> {
  readonly call: Call<C, A>
  readonly moment: number
  /** The entry of the moment before; -1: it is the first. */
  readonly after: number
  readonly answeredAt: number
  readonly isRead: boolean
}

/** A node of the search: an order of moments, and what may follow. */
interface Node {
  readonly parent: Node | null
  /** What was placed last; -1: nothing was. */
  readonly entry: number
  readonly states: number
  readonly answeredLeft: number
  readonly candidates: ReadonlyArray<number>
  tried: number
}

class Search<S, C, A> {
  readonly #model: Model<S, C, A>
  readonly #sets: StateSets<S, C, A>
  readonly entries: ReadonlyArray<Entry<C, A>>
  readonly #answered: ReadonlyArray<number>
  readonly #lost: ReadonlyArray<number>
  /** By entry, its place in `#answered`; -1: it is lost. */
  readonly #places: ReadonlyArray<number>
  readonly #placed: Uint8Array
  /** By entry, the result of its step in each set of states. */
  readonly #steps: ReadonlyArray<Map<number, number | null>>
  /** All before this place in `#answered` are placed. */
  #from = 0

  constructor(model: Model<S, C, A>, whole: History<C, A>) {
    this.#model = model
    const { history, isPossible } = model.foresee?.(whole) ?? { history: whole, isPossible: () => true }
    this.#sets = new StateSets(model, isPossible)
    const entries: Array<Entry<C, A>> = []
    for (const call of history.toSorted((one, other) => one.invokedAt - other.invokedAt)) {
      const answer = call.answered?.answer ?? null
      let after = -1
      for (let moment = 0; moment < model.moments(call.does); moment++) {
        const isRead = model.isRead(call.does, answer, moment)
        // Whenever it took place, or if it did not, nothing is different.
        if (call.answered === null && isRead) continue
        const answeredAt = call.answered?.at ?? Number.POSITIVE_INFINITY
        after = entries.push({ call, moment, after, answeredAt, isRead }) - 1
      }
    }
    this.entries = entries
    const all = entries.map((_, entry) => entry)
    this.#answered = all.filter((entry) => entries[entry]!.call.answered !== null)
    this.#lost = all.filter((entry) => entries[entry]!.call.answered === null)
    const places = all.map(() => -1)
    for (const [place, entry] of this.#answered.entries()) places[entry] = place
    this.#places = places
    this.#placed = new Uint8Array(entries.length)
    this.#steps = entries.map(() => new Map())
  }

  begin(): Node | null {
    const states = this.#sets.numberOf(this.#model.first)
    return states === null ? null : this.#node(null, -1, states, this.#answered.length)
  }

  #node(parent: Node | null, entry: number, states: number, answeredLeft: number): Node {
    return { parent, entry, states, answeredLeft, candidates: this.#candidates(states), tried: 0 }
  }

  /** Places the entry behind the node; null: the specification does not allow it. */
  place(node: Node, entry: number): Node | null {
    const states = this.#after(entry, node.states)
    if (states === null) return null
    this.#placed[entry] = 1
    while (this.#placed[this.#answered[this.#from]!] === 1) this.#from++
    const isAnswered = this.entries[entry]!.call.answered !== null
    return this.#node(node, entry, states, node.answeredLeft - Number(isAnswered))
  }

  takeBack({ entry }: Node): void {
    this.#placed[entry] = 0
    const place = this.#places[entry]!
    if (place !== -1 && place < this.#from) this.#from = place
  }

  /** What is placed, and the states that this led to. */
  key({ states }: Node): string {
    const beyond: Array<number> = []
    for (let at = this.#from; at < this.#answered.length; at++) {
      if (this.#placed[this.#answered[at]!] === 1) beyond.push(this.#answered[at]!)
    }
    const lost = this.#lost.filter((entry) => this.#placed[entry] === 1)
    return `${this.#from} ${beyond} ${lost} ${states}`
  }

  #after(entry: number, states: number): number | null {
    const known = this.#steps[entry]!.get(states)
    if (known !== undefined) return known
    const { call, moment } = this.entries[entry]!
    const answer = call.answered?.answer ?? null
    const next = this.#sets.numberOf(
      this.#sets.states(states).flatMap((state) => this.#model.step(state, call.does, answer, moment))
    )
    this.#steps[entry]!.set(states, next)
    return next
  }

  #isOpen(entry: number): boolean {
    const { after } = this.entries[entry]!
    return this.#placed[entry] === 0 && (after === -1 || this.#placed[after] === 1)
  }

  /** Those that began before any that is left was answered: the one with the first answer first, lost ones last. */
  #candidates(states: number): ReadonlyArray<number> {
    const found: Array<number> = []
    let firstAnswerAt = Number.POSITIVE_INFINITY
    for (let at = this.#from; at < this.#answered.length; at++) {
      const entry = this.#answered[at]!
      const { call, answeredAt } = this.entries[entry]!
      if (call.invokedAt > firstAnswerAt) break
      if (this.#placed[entry] === 1) continue
      firstAnswerAt = Math.min(firstAnswerAt, answeredAt)
      if (this.#isOpen(entry)) found.push(entry)
    }
    // A read that is possible now and tells nothing new may as well be done now: an order that has it later may have it here.
    const idle = found.find((entry) => this.entries[entry]!.isRead && this.#after(entry, states) === states)
    if (idle !== undefined) return [idle]
    // A lost call need not be placed at all, so not where it would change nothing.
    const lost = this.#lost.filter(
      (entry) =>
        this.entries[entry]!.call.invokedAt <= firstAnswerAt &&
        this.#isOpen(entry) &&
        this.#after(entry, states) !== states
    )
    return [...found.sort((one, other) => this.entries[one]!.answeredAt - this.entries[other]!.answeredAt), ...lost]
  }

  order(last: Node | null): ReadonlyArray<Placed<S, C, A>> {
    const order: Array<Placed<S, C, A>> = []
    for (let node = last; node !== null && node.entry !== -1; node = node.parent) {
      const { call, moment } = this.entries[node.entry]!
      order.push({ call, moment, states: this.#sets.states(node.states) })
    }
    return order.reverse()
  }
}

export const linearize = <S, C, A>(
  model: Model<S, C, A>,
  history: History<C, A>,
  { msMax, seenMax }: SearchLimits = usualLimits
): Verdict<S, C, A> => {
  const search = new Search(model, history)
  const endAt = performance.now() + msMax
  const seen = new Set<string>()
  let node = search.begin()
  let best = node
  for (let turn = 1; node !== null; turn++) {
    if (node.answeredLeft === 0) return { is: "linearizable", order: search.order(node), seen: seen.size }
    const isOver = seen.size > seenMax || (turn % looksAtClockEvery === 0 && performance.now() > endAt)
    if (isOver) return { is: "undecided", order: search.order(best), seen: seen.size }
    const candidate: number | undefined = node.candidates[node.tried++]
    if (candidate === undefined) {
      if (node.entry !== -1) search.takeBack(node)
      node = node.parent
      continue
    }
    const next = search.place(node, candidate)
    if (next === null) continue
    const key = search.key(next)
    if (seen.has(key)) {
      search.takeBack(next)
      continue
    }
    seen.add(key)
    node = next
    if (node.answeredLeft < best!.answeredLeft) best = node
  }
  const next = (best?.candidates ?? []).map((entry) => search.entries[entry]!)
  return { is: "refused", order: search.order(best), next, seen: seen.size }
}
