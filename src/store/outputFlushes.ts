/** How much of each stream is on disk: one flush for all that ask while the last one is under way. */
import { Cause, Effect, Queue, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { vitalWorker } from "../platform/worker/Worker.ts"
import { textColumn } from "./Columns.ts"
import type { DatabaseWatch } from "./DatabaseWatch.ts"
import type { StoredOffsets } from "./OutputChunk.ts"
import { flushStatement } from "./OutputStatements.ts"
import { type EndRow, endsOf } from "./outputEnds.ts"

/** Starts the flushes, and gives how to ask for one. */
export const outputFlushes = Effect.fnUntraced(function* (
  main: SqlClient.SqlClient,
  untilServed: DatabaseWatch["Service"]["untilServed"]
): Effect.fn.Return<(ownerId: string) => Effect.Effect<StoredOffsets>, never, Scope.Scope> {
  const flushes = yield* Queue.unbounded<{
    readonly ownerId: string
    readonly done: (offsets: Effect.Effect<StoredOffsets>) => void
  }>()
  const flushNext = Effect.gen(function* () {
    const waiting = yield* Queue.takeAll(flushes)
    const ownerIds = [...new Set(waiting.map(({ ownerId }) => ownerId))]
    yield* main.unsafe<EndRow>(flushStatement, [textColumn(ownerIds)]).pipe(
      untilServed,
      Effect.map((rows) => endsOf(ownerIds, rows)),
      Effect.matchCause({
        onSuccess: (found) => waiting.forEach(({ ownerId, done }) => done(Effect.succeed(found.get(ownerId)!))),
        onFailure: (cause) => waiting.forEach(({ done }) => done(Effect.die(Cause.squash(cause))))
      })
    )
  })
  yield* vitalWorker("output flushes", Effect.forever(flushNext))
  return (ownerId) =>
    Effect.callback((resume) => {
      Queue.offerUnsafe(flushes, { ownerId, done: resume })
    })
})
