/**
 * Command output, stored once. It is read as an operation's output by absolute offset, and as a Sandbox's log by time.
 *
 * One statement stores chunks of many writers. Each writer waits for its own chunks (backpressure), so an endless writer is slowed to the
 * store's rate and never holds more memory than one write.
 *
 * @source contract.md OperationOutputChunk, SandboxLogs; contract-details.md "retention"
 */
import { Clock, Context, Effect, FiberSet, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Settings } from "../Config.ts"
import { textColumn } from "./Columns.ts"
import { MaintenanceDatabase, OutputDatabase } from "./Database.ts"
import { forAMoment } from "./DatabaseFault.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"
import type { OutputChunk, OutputPage, OutputStreamName, Overtaken, StoredOffsets } from "./OutputChunk.ts"
import { type Others, OutputListeners } from "./OutputListeners.ts"
import { OutputRate } from "./OutputRate.ts"
import { chunkOverheadBytes, outputRoom } from "./OutputRoom.ts"
import { endsStatement } from "./OutputStatements.ts"
import { OutputTail } from "./OutputTail.ts"
import { type EndRow, endsOf } from "./outputEnds.ts"
import { outputFlushes } from "./outputFlushes.ts"
import { outputWrites } from "./outputWrites.ts"
import { newestPage, readOutputPage } from "./readOutputPage.ts"

export class Output extends Context.Service<
  Output,
  {
    /**
     * When it returns, the chunks are stored and readable, all of a stream's chunks or none. They are not flushed: a crash of the database may
     * still lose them. Chunks of one stream must be contiguous; all belong to one Sandbox. A Sandbox above its rate waits before anything is
     * stored, unless its writer cannot wait; such a writer checks `heldBackMs` first.
     */
    readonly append: (
      chunks: ReadonlyArray<OutputChunk>,
      options?: { readonly waits: boolean }
    ) => Effect.Effect<void, Overtaken>
    /**
     * Flushes the stream, and returns how much of it is on disk and survives a crash of the database. Less than was appended before means that
     * the database crashed in between. The guest may discard bytes only up to this offset. Concurrent calls share one flush.
     */
    readonly durable: (ownerId: string) => Effect.Effect<StoredOffsets>
    /** How much of each stream is stored. */
    readonly offsets: (ownerId: string) => Effect.Effect<StoredOffsets>
    /** The same, but waits for the database without a limit: for work that no caller waits for. */
    readonly offsetsAtLast: (ownerId: string) => Effect.Effect<StoredOffsets>
    /** The same for many owners. */
    readonly offsetsOf: (ownerIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, StoredOffsets>>
    readonly read: (
      ownerId: string,
      stream: OutputStreamName,
      offset: number,
      limit: number
    ) => Effect.Effect<OutputPage>
    /**
     * The same from memory, of a stream whose reader follows it here while this process writes it; null: the database has to be asked. Its
     * `totalBytes` is at least so much: only a stream whose end does not matter yet may be read so. The page may be smaller than it could be, if it
     * has `enough` bytes and need not be copied.
     */
    readonly newest: (
      ownerId: string,
      stream: OutputStreamName,
      offset: number,
      limit: number,
      enough?: number
    ) => OutputPage | null
    /** How long an append of that Sandbox would wait now because of its rate. */
    readonly heldBackMs: (sandboxId: string) => Effect.Effect<number>
    /** Deletes all but the last `keepBytes` of a stream. */
    readonly trim: (ownerId: string, stream: OutputStreamName, keepBytes: number) => Effect.Effect<void>
    /** Calls back after bytes of that owner, or of that Sandbox, were stored, by this process or by another one that reports it. */
    readonly onAppend: (ownerOrSandboxId: string, listener: () => void) => () => void
    /** Another process has stored bytes of these owners and Sandboxes; null: of unknown ones. */
    readonly storedElsewhere: (ownerOrSandboxIds: ReadonlyArray<string> | null) => void
    /** Reports to other processes what this process stores and whether it listens. Call the result to stop. */
    readonly meetOthers: (others: Others) => () => void
  }
>()("atoll/store/Output") {
  static readonly layer = Layer.effect(
    Output,
    Effect.gen(function* () {
      const sql = yield* OutputDatabase
      const main = yield* SqlClient.SqlClient
      const { outputBytesPerSecond, outputBurstBytes, logBytesPerSandbox } = yield* Settings
      const rate = new OutputRate(outputBytesPerSecond, outputBurstBytes)
      const room = outputRoom(sql, yield* MaintenanceDatabase)
      const inBackground = yield* FiberSet.makeRuntime()
      const beingCut = new Set<string>()
      const listeners = new OutputListeners()
      const tail = new OutputTail()
      const { untilServed } = yield* DatabaseWatch
      const write = yield* outputWrites(sql, untilServed)
      const durable = yield* outputFlushes(main, untilServed)
      const patiently = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
        effect.pipe(Effect.retry(forAMoment), Effect.orDie)

      const findEnds = (ownerIds: ReadonlyArray<string>) =>
        Effect.map(
          Effect.suspend(() => sql.unsafe<EndRow>(endsStatement, [textColumn(ownerIds)])),
          (rows) => endsOf(ownerIds, rows)
        )
      const offsetsOf = (ownerIds: ReadonlyArray<string>) => patiently(findEnds(ownerIds))

      const vacuum = room.vacuum.pipe(
        Effect.catch((error) => Effect.logWarning("Could not vacuum deleted output", error.message))
      )

      const cut = Effect.fnUntraced(function* (sandboxId: string, storedBytes: number) {
        if (storedBytes <= logBytesPerSandbox || beingCut.has(sandboxId)) return
        beingCut.add(sandboxId)
        yield* room.cut(sandboxId, storedBytes, logBytesPerSandbox).pipe(
          Effect.catch((error) => Effect.logWarning("Could not delete a Sandbox's oldest output", error.message)),
          Effect.ensuring(Effect.sync(() => beingCut.delete(sandboxId)))
        )
        inBackground(vacuum)
      })

      const store = Effect.fnUntraced(function* (sandboxId: string, chunks: ReadonlyArray<OutputChunk>) {
        const storedBytes = yield* write(chunks).pipe(
          Effect.tapError(({ ownerId }) => Effect.sync(() => tail.forget(ownerId)))
        )
        tail.stored(chunks)
        listeners.tell(new Set([sandboxId, ...chunks.map((chunk) => chunk.ownerId)]))
        yield* cut(sandboxId, storedBytes)
      }, Effect.uninterruptible)

      return Output.of({
        append: Effect.fnUntraced(function* (chunks, { waits } = { waits: true }) {
          const [first] = chunks
          if (first === undefined) return
          const waitMs = rate.take(first.sandboxId, costOf(chunks), yield* Clock.currentTimeMillis)
          if (waits && waitMs > 0) yield* Effect.sleep(waitMs)
          yield* store(first.sandboxId, chunks)
        }),
        heldBackMs: (sandboxId) => Effect.map(Clock.currentTimeMillis, (now) => rate.waitMs(sandboxId, now)),
        durable,
        offsets: (ownerId) => Effect.map(offsetsOf([ownerId]), (found) => found.get(ownerId)!),
        offsetsAtLast: (ownerId) =>
          untilServed(findEnds([ownerId])).pipe(
            Effect.orDie,
            Effect.map((found) => found.get(ownerId)!)
          ),
        offsetsOf,
        read: (ownerId, stream, offset, limit) =>
          readOutputPage(sql, tail, patiently, { ownerId, stream, offset, limit }),
        newest: (ownerId, stream, offset, limit, enough) =>
          newestPage(tail, { ownerId, stream, offset, limit }, enough),
        trim: (ownerId, stream, keepBytes) =>
          patiently(room.trim(ownerId, stream, keepBytes)).pipe(
            Effect.tap(() => Effect.sync(() => tail.trim(ownerId, stream, keepBytes))),
            Effect.andThen(Effect.sync(() => void inBackground(vacuum)))
          ),
        onAppend: (id, listener) => listeners.add(id, listener),
        storedElsewhere: (ids) => listeners.tellHere(ids),
        meetOthers: (others) => listeners.meet(others)
      })
    })
  )
}

const costOf = (chunks: ReadonlyArray<OutputChunk>) =>
  chunks.reduce((sum, { bytes }) => sum + bytes.length + chunkOverheadBytes, 0)
