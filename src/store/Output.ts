/**
 * Command output, stored once: read as the output of an operation by absolute offset, and as the log of a Sandbox by time.
 *
 * Chunks of many writers go out in one statement; each writer waits for its own, so an endless writer is slowed to what the
 * store takes and never holds more memory than one write.
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
import { type EndRow, endsOf } from "./outputEnds.ts"
import { outputFlushes } from "./outputFlushes.ts"
import { outputWrites } from "./outputWrites.ts"
import { readOutputPage } from "./readOutputPage.ts"

export class Output extends Context.Service<
  Output,
  {
    /**
     * Stored and readable when it returns, all of a stream's chunks or none, but not on disk: a crash of the database may still forget it. Chunks
     * of one stream must follow each other; all are of one Sandbox. A Sandbox beyond its rate waits before anything is stored, unless its writer
     * cannot wait, and looks at `heldBackMs` before it comes.
     */
    readonly append: (
      chunks: ReadonlyArray<OutputChunk>,
      options?: { readonly waits: boolean }
    ) => Effect.Effect<void, Overtaken>
    /**
     * How much of each stream is on disk, and outlives a crash of the database: everything that it has by the time it is asked. Less than was
     * appended before means that it crashed in between. Only up to there may whoever else has the bytes drop them. Many that ask at once share
     * one flush.
     */
    readonly durable: (ownerId: string) => Effect.Effect<StoredOffsets>
    /** How much of each stream is stored. */
    readonly offsets: (ownerId: string) => Effect.Effect<StoredOffsets>
    /** The same, however long the database takes: for what no caller waits for. */
    readonly offsetsAtLast: (ownerId: string) => Effect.Effect<StoredOffsets>
    /** The same for many owners at once. */
    readonly offsetsOf: (ownerIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, StoredOffsets>>
    readonly read: (
      ownerId: string,
      stream: OutputStreamName,
      offset: number,
      limit: number
    ) => Effect.Effect<OutputPage>
    /** How long an append of that Sandbox would wait now for its rate. */
    readonly heldBackMs: (sandboxId: string) => Effect.Effect<number>
    /** Forgets all but the last `keepBytes` of a stream. */
    readonly trim: (ownerId: string, stream: OutputStreamName, keepBytes: number) => Effect.Effect<void>
    /** Calls back after bytes of that owner, or of that Sandbox, were stored: by this process, or by another one that tells it. */
    readonly onAppend: (ownerOrSandboxId: string, listener: () => void) => () => void
    /** Another process has stored bytes of these owners and Sandboxes; null: of any. */
    readonly storedElsewhere: (ownerOrSandboxIds: ReadonlyArray<string> | null) => void
    /** From now on others are told what this process stores, and whether it listens. Call the result to tell them no more. */
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
        Effect.catch((error) =>
          Effect.logWarning("What was forgotten of output could not be given back", error.message)
        )
      )

      const cut = Effect.fnUntraced(function* (sandboxId: string, storedBytes: number) {
        if (storedBytes <= logBytesPerSandbox || beingCut.has(sandboxId)) return
        beingCut.add(sandboxId)
        yield* room.cut(sandboxId, storedBytes, logBytesPerSandbox).pipe(
          Effect.catch((error) => Effect.logWarning("A Sandbox's oldest output could not be forgotten", error.message)),
          Effect.ensuring(Effect.sync(() => beingCut.delete(sandboxId)))
        )
        inBackground(vacuum)
      })

      const store = Effect.fnUntraced(function* (sandboxId: string, chunks: ReadonlyArray<OutputChunk>) {
        const storedBytes = yield* write(chunks)
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
        read: (ownerId, stream, offset, limit) => readOutputPage(sql, patiently, { ownerId, stream, offset, limit }),
        trim: (ownerId, stream, keepBytes) =>
          patiently(room.trim(ownerId, stream, keepBytes)).pipe(
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
