/**
 * Rows that are remembered at once and written in groups: what must not cost its caller a statement, and may be lost in a crash.
 *
 * The first note starts the wait that the others join; nothing happens while there are none. A note leaves memory when it is written, and a
 * failed write is tried again; one that the database refuses for good is dropped alone. When the database does not keep up, the newest notes are dropped and their number is logged.
 */
import { Data, Effect, FiberSet, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { isTransient } from "./DatabaseFault.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"

const unwrittenMax = 10_000
const batchMax = 500
const tryAgainAfterMs = 1000

class Refused extends Data.TaggedError("Refused")<{ readonly reason: unknown }> {}

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
}): Effect.fn.Return<GroupedNotes<A>, never, DatabaseWatch | Scope.Scope> {
  const { fault } = yield* DatabaseWatch
  const { what, writeAfterMs, insert } = options
  const fork = yield* FiberSet.makeRuntime()
  let unwritten: Array<A> = []
  let dropped = 0
  let isDue = false

  const forget = (batch: ReadonlyArray<A>) =>
    Effect.sync(() => {
      const gone = new Set(batch)
      unwritten = unwritten.filter((one) => !gone.has(one))
    })

  /** A note that cannot be encoded is found as one is that the database refuses. */
  const encoded = (batch: ReadonlyArray<A>) =>
    Effect.suspend(() => insert(batch)).pipe(
      Effect.catchDefect((defect) => Effect.fail(new Refused({ reason: defect })))
    )

  /** One bad note must not hold up its neighbours, who may be another tenant's: the batch is parted to find it. */
  const insertAll = (batch: ReadonlyArray<A>): Effect.Effect<void, SqlError.SqlError> =>
    Effect.matchEffect(encoded(batch), {
      onSuccess: () => forget(batch),
      onFailure: (fault) => {
        if (fault._tag === "SqlError" && isTransient(fault)) return Effect.fail(fault)
        if (batch.length === 1) {
          return Effect.andThen(
            Effect.logError(`One of the ${what} can never be written and is dropped`, fault),
            forget(batch)
          )
        }
        const half = Math.ceil(batch.length / 2)
        return Effect.andThen(insertAll(batch.slice(0, half)), insertAll(batch.slice(half)))
      }
    })

  const write = Effect.gen(function* () {
    while (unwritten.length > 0) yield* insertAll(unwritten.slice(0, batchMax))
    if (dropped > 0) {
      yield* Effect.logWarning(`${dropped} ${what} were lost: the database did not keep up`)
      dropped = 0
    }
  }).pipe(
    Effect.catch((error) =>
      Effect.andThen(
        fault(error),
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
