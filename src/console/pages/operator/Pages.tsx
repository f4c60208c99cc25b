import { count } from "../format.ts"

interface Turned {
  /** Counted from 1. */
  readonly first: number
  readonly last: number
  readonly all: number
  /** Null: no such page. */
  readonly previous: (() => void) | null
  readonly next: (() => void) | null
}

/** Buttons for the previous and next page of a list. */
export const Pages = ({ first, last, all, previous, next }: Turned) =>
  first === 1 && last >= all ? null : (
    <nav aria-label="Pages of hosts" class="buttons">
      <button type="button" class="button" aria-disabled={previous === null} onClick={() => previous?.()}>
        Previous
      </button>
      <button type="button" class="button" aria-disabled={next === null} onClick={() => next?.()}>
        Next
      </button>
      <span class="found">
        {count(first)} to {count(last)} of {count(all)}
      </span>
    </nav>
  )
