/**
 * Rows that are remembered at once and written in groups: what must not cost its caller a statement, and may be lost in a crash.
 *
 * A note leaves memory when it is written, so a failed write is tried again with the next. When the database does not keep up, the newest
 * notes are dropped and their number is logged.
 */
import { Effect } from "effect"
import type { SqlError } from "effect/unstable/sql"

const unwrittenMax = 10_000
const batchMax = 500

export interface GroupedNotes<A> {
  readonly note: (one: A) => void
  /** Writes what is not written yet. */
  readonly write: Effect.Effect<void>
}

/** @param what The notes, in the words of the log. `insert` must bear to be given a note twice. */
export const groupedNotes = <A>(
  what: string,
  insert: (notes: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError.SqlError>
): GroupedNotes<A> => {
  let unwritten: Array<A> = []
  let dropped = 0
  return {
    note: (one) => {
      if (unwritten.length < unwrittenMax) unwritten.push(one)
      else dropped++
    },
    write: Effect.gen(function* () {
      while (unwritten.length > 0) {
        const batch = unwritten.slice(0, batchMax)
        yield* insert(batch)
        const written = new Set(batch)
        unwritten = unwritten.filter((one) => !written.has(one))
      }
      if (dropped > 0) {
        yield* Effect.logWarning(`${dropped} ${what} were lost: the database did not keep up`)
        dropped = 0
      }
    }).pipe(
      Effect.catch((error) => Effect.logWarning(`The ${what} could not be written; it is tried again`, error)),
      Effect.uninterruptible
    )
  }
}
