/**
 * Rows that are remembered at once and written in groups: what must not cost its caller a statement, and may be lost in a crash.
 *
 * The first note starts the wait that the others join; nothing happens while there are none. A note leaves memory when it is written, and a
 * failed write is tried again. When the database does not keep up, the newest notes are dropped and their number is logged.
 */
import { Effect, FiberSet, type Scope } from "effect"
import type { SqlError } from "effect/sql"

const unwrittenMax = 10_000
const batchMax = 500
const tryAgainAfterMs = 1000

export interface GroupedNotes<A> {
  readonly note: (one: A) => void
  /** Writes what is not written yet, at once. */
  readonly write: Effect.Effect<void>
}

/** What is noted is written `writeAfterMs` later, and when the scope closes. `insert` must bear to be given a note twice. */
export const groupedNotes = Effect.fnUntraced(function* <A>(options: {
  /** The notes, in the words of the log. */
  readonly what: string
  readonly writeAfterMs: number
  readonly insert: (notes: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError.SqlError>
}): Effect.fn.Return<GroupedNotes<A>, never, Scope.Scope> {
  const { what, writeAfterMs, insert } = options
  const fork = yield* FiberSet.makeRuntime()
  let unwritten: Array<A> = []
  let dropped = 0
  let isDue = false

  const write = Effect.gen(function* () {
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
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logWarning(`The ${what} could not be written; it is tried again`, error),
        Effect.sync(() => writeIn(tryAgainAfterMs))
      )
    ),
    Effect.uninterruptible
  )

  const writeIn = (ms: number): void => {
    if (isDue) return
    isDue = true
    const begin = Effect.sync(() => {
      isDue = false
    })
    fork(Effect.sleep(ms).pipe(Effect.andThen(begin), Effect.andThen(write)))
  }

  yield* Effect.addFinalizer(() => write)

  return {
    note: (one) => {
      if (unwritten.length < unwrittenMax) unwritten.push(one)
      else dropped++
      writeIn(writeAfterMs)
    },
    write
  }
})
