/**
 * Rows that are written in groups, so that a caller does not pay for a statement. Until then they are in memory, and in the spool of the data
 * folder (`NoteSpool.ts`), so that a killed service loses none.
 *
 * The first note starts a delay that later notes join; without notes nothing runs. A note leaves memory when it is written. A failed
 * write is retried; a note that the database permanently rejects is dropped alone. While the database does not keep up, further notes are only in
 * the spool, and are read from there afterwards. A note that the spool cannot take either is dropped; the log tells how many.
 */
import { Data, Effect, FiberSet, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { isTransient } from "./DatabaseFault.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"
import { NoteSpool } from "./NoteSpool.ts"

const unwrittenMax = 10_000
const batchMax = 500
const tryAgainAfterMs = 1000

class Refused extends Data.TaggedError("Refused")<{ readonly reason: unknown }> {}

export interface GroupedNotes<A> {
  readonly note: (one: A) => void
  /** Writes all pending notes now. */
  readonly write: Effect.Effect<void>
}

/** Writes notes `writeAfterMs` later, and when the scope closes. `insert` must tolerate the same note twice. */
export const groupedNotes = Effect.fnUntraced(function* <A>(options: {
  /** A plural noun for the notes, for the log. */
  readonly what: string
  /** Name of their file in the spool: letters. A note must be plain JSON. */
  readonly name: string
  readonly writeAfterMs: number
  readonly insert: (notes: ReadonlyArray<A>) => Effect.Effect<unknown, SqlError.SqlError>
}): Effect.fn.Return<GroupedNotes<A>, never, DatabaseWatch | Scope.Scope> {
  const { fault, untilServed } = yield* DatabaseWatch
  const { what, name, writeAfterMs, insert } = options
  const spool = (yield* NoteSpool)?.open(name) ?? null
  const fork = yield* FiberSet.makeRuntime()
  let unwritten: Array<A> = []
  let dropped = 0
  /** Notes that are in the spool and not in memory. */
  let spooled = 0
  let isDue = false

  const forget = (batch: ReadonlyArray<A>) =>
    Effect.sync(() => {
      const gone = new Set(batch)
      unwritten = unwritten.filter((one) => !gone.has(one))
    })

  /** Treats a note that cannot be encoded like a note that the database rejects. */
  const encoded = (batch: ReadonlyArray<A>) =>
    Effect.suspend(() => insert(batch)).pipe(
      Effect.catchDefect((defect) => Effect.fail(new Refused({ reason: defect })))
    )

  /** One bad note must not hold up the others, which may be another tenant's: the batch is split to find it. */
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
    while (true) {
      while (unwritten.length > 0) yield* insertAll(unwritten.slice(0, batchMax))
      if (spooled === 0) break
      spooled = 0
      unwritten = [...(spool!.read() as ReadonlyArray<A>)]
    }
    // No note arrived since the last write: the spool holds nothing unwritten.
    spool?.empty()
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

  /** Writes the notes of processes that were killed. */
  const postLeft = Effect.gen(function* () {
    for (const { notes, forget: forgetFile } of spool?.left ?? []) {
      for (let at = 0; at < notes.length; at += batchMax) {
        yield* untilServed(insertAll((notes as ReadonlyArray<A>).slice(at, at + batchMax)))
      }
      if (notes.length > 0) yield* Effect.logWarning(`${notes.length} ${what} of a killed process were written`)
      yield* Effect.sync(forgetFile)
    }
  })
  fork(Effect.orDie(postLeft))

  return {
    note: (one) => {
      const isSpooled = spool?.append(one) ?? false
      if (unwritten.length < unwrittenMax) unwritten.push(one)
      else if (isSpooled) spooled++
      else dropped++
      writeIn(writeAfterMs)
    },
    write
  }
})
