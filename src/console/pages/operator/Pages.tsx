import { count } from "../format.ts"
import type { Turned } from "./useTurned.ts"

interface Shown {
  /** Of the list's entries, for screen readers. */
  readonly what: string
  readonly turned: Turned
  /** Of a page. */
  readonly rows: number
  /** On all pages. */
  readonly all: number
  /** The cursor of the next page; null: there is none. */
  readonly next: string | null
}

/** Buttons for the previous and next page of a list. */
export const Pages = ({ what, turned: { cursors, turn }, rows, all, next }: Shown) => {
  const isFirst = cursors.length === 0
  const last = Math.min((cursors.length + 1) * rows, all)
  return isFirst && last >= all ? null : (
    <nav aria-label={`Pages of ${what}`} class="buttons">
      <button
        type="button"
        class="button"
        aria-disabled={isFirst}
        onClick={() => (isFirst ? undefined : turn(cursors.slice(0, -1)))}
      >
        Previous
      </button>
      <button
        type="button"
        class="button"
        aria-disabled={next === null}
        onClick={() => (next === null ? undefined : turn([...cursors, next]))}
      >
        Next
      </button>
      <span class="found">
        {count(cursors.length * rows + 1)} to {count(last)} of {count(all)}
      </span>
    </nav>
  )
}
