/** Differences between the recomputed values and the books. */
export interface Difference {
  /** The subject: `memory of the meter`, `an entry of its segment`. */
  readonly what: string
  readonly accountId: string | null
  /** The Sandbox, entry or grant. */
  readonly id: string | null
  readonly expected: string
  readonly found: string
}

const shown = (value: unknown): string =>
  typeof value === "string" ? value : value === null || value === undefined ? "nothing" : String(value)

/** Keeps a limited number of differences, and counts them all. */
export class Differences {
  readonly #max: number
  readonly kept: Array<Difference> = []
  count = 0

  constructor(max: number) {
    this.#max = max
  }

  add(what: string, accountId: string | null, id: string | null, expected: unknown, found: unknown): void {
    this.count += 1
    if (this.kept.length >= this.#max) return
    this.kept.push({ what, accountId, id, expected: shown(expected), found: shown(found) })
  }

  /** Adds a difference if the two are not equal. */
  compare<A extends string | number | bigint | boolean | null>(
    what: string,
    accountId: string,
    id: string | null,
    expected: A,
    found: A
  ): void {
    if (expected !== found) this.add(what, accountId, id, expected, found)
  }

  /** Counts further differences that were not read. */
  countMore(count: number): void {
    this.count += count
  }
}
