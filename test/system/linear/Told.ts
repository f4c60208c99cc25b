/** A client's stream of the events of one Sandbox, which goes on where it was broken off, as calls of the contract. */
import type { History } from "../../../src/proofs/linear/Model.ts"
import type { Answer, Does } from "../../proofs/linear/calls.ts"
import { entryOf, type Step } from "./steps.ts"

type Call = History<Does, Answer>[number]

/** Of an entry that no log has. */
const nowhere = 1_000_000

export interface ToldStep extends Step {
  readonly kind: string
  readonly actorId: string
}

export interface Piece {
  readonly invokedAt: number
  readonly at: number
  readonly steps: ReadonlyArray<ToldStep>
  /** It was read for as long as something was left to tell. */
  readonly toEnd: boolean
}

const isOfSandbox = ({ kind }: ToldStep): boolean => kind === "sandbox"

/**
 * Revisions have no gaps, so one that is skipped shows even where it is nothing of the contract's log: in the Sandbox, and in each thing that lives in it.
 *
 * @param told The last revision of each that was told; this is noted there.
 */
const entriesOf = (steps: ReadonlyArray<ToldStep>, told: Map<string, number>): ReadonlyArray<string> =>
  steps.flatMap((step) => {
    const { actorId, revision } = step
    const before = told.get(actorId)
    told.set(actorId, revision)
    const entry = isOfSandbox(step) ? entryOf(step) : null
    const isNext = before === undefined || revision === before + 1
    return [...(isNext ? [] : [`skipped to ${actorId} ${revision}`]), ...(entry === null ? [] : [entry])]
  })

export class Told {
  /** The `id` of the last event; null: the stream has not begun. */
  cursor: string | null = null
  readonly #client: string
  /** When it was asked for, and when its first position came. */
  #begun: { readonly invokedAt: number; readonly at: number } | null = null
  readonly #pieces: Array<Piece> = []

  constructor(client: string) {
    this.#client = client
  }

  begins(invokedAt: number, at: number): void {
    this.#begun = { invokedAt, at }
  }

  /** The last revision of the Sandbox that it has told. */
  get revision(): number {
    return this.#pieces.flatMap(({ steps }) => steps).findLast(isOfSandbox)?.revision ?? 0
  }

  goesOn(piece: Piece): void {
    this.#pieces.push(piece)
  }

  /** @param entriesTo How many entries the contract's log has up to each revision, as the longest log that was read says. */
  calls(sandbox: string, entriesTo: ReadonlyMap<number, number>): ReadonlyArray<Call> {
    if (this.#begun === null) return []
    const first = this.#pieces.flatMap(({ steps }) => steps).find(isOfSandbox)
    const isEntry = first !== undefined && entryOf(first) !== null
    const to = first === undefined ? undefined : entriesTo.get(first.revision)
    const after = first === undefined ? null : to === undefined ? nowhere : to - Number(isEntry)
    const client = this.#client
    const begin: Call = {
      client,
      does: { sandbox, type: "listen" },
      invokedAt: this.#begun.invokedAt,
      answered: { at: this.#begun.at, answer: { is: "listens", after, ms: this.#begun.at - this.#begun.invokedAt } }
    }
    if (after === null) return [begin]
    let told = after
    const revisions = new Map<string, number>()
    const pieces = this.#pieces.map(({ invokedAt, at, steps, toEnd }): Call => {
      const entries = entriesOf(steps, revisions)
      const does = { sandbox, type: "told", after: told, toEnd } as const
      told += entries.length
      return { client, does, invokedAt, answered: { at, answer: { is: "log", entries, ms: at - invokedAt } } }
    })
    return [begin, ...pieces]
  }
}
