import { count } from "../format.ts"

interface Turned {
  /** From 1 on. */
  readonly first: number
  readonly last: number
  readonly all: number
  /** Null: there is none. */
  readonly previous: (() => void) | null
  readonly next: (() => void) | null
}

/** Goes back and forth in a list of which one page is shown at a time. */
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
