/**
 * Command output, stored once: read as the output of an operation by absolute offset, and as the log of a Sandbox by time.
 *
 * Chunks of many writers go out in one statement; each writer waits for its own, so an endless writer is slowed to what the
 * store takes and never holds more memory than one write.
 *
 * @source contract.md OperationOutputChunk, SandboxLogs; contract-details.md "retention"
 */
import { Cause, Clock, Context, Data, Effect, Exit, FiberSet, Layer, Queue } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Settings } from "../Config.ts"
import { vitalWorker } from "../worker/Worker.ts"
import { int4Column, int8Column, textColumn } from "./Columns.ts"
import { MaintenanceDatabase, OutputDatabase } from "./Database.ts"
import { forAMoment } from "./DatabaseFault.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"
import { OutputRate } from "./OutputRate.ts"
import { chunkOverheadBytes, outputRoom } from "./OutputRoom.ts"
import {
  appendStatement,
  endsStatement,
  flushStatement,
  nextChunkStatement,
  pageStatement
} from "./OutputStatements.ts"

export type OutputSource = "workload" | "execute" | "process"
export type OutputStreamName = "stdout" | "stderr"

export interface OutputChunk {
  /** An operation, a synchronous execute, or the console of one generation. */
  readonly ownerId: string
  readonly stream: OutputStreamName
  readonly sandboxId: string
  readonly source: OutputSource
  /** Where the writer believes that the stream ends so far: `offset`, or less where whoever produced the bytes said that those between are gone. */
  readonly follows: number
  /** Absolute offset of the first byte. */
  readonly offset: number
  /** At most 64 KiB; none where only the end moves, over bytes that are gone. */
  readonly bytes: Uint8Array
  /** Epoch milliseconds. */
  readonly at: number
}

export interface OutputPage {
  readonly offset: number
  readonly nextOffset: number
  readonly bytes: Uint8Array
  /** Bytes from the asked offset on are no longer kept. */
  readonly truncated: boolean
  /** Everything ever stored of this stream. */
  readonly totalBytes: number
}

interface Job {
  readonly chunks: ReadonlyArray<OutputChunk>
  /** What the Sandbox stores now, or why nothing of this was stored. */
  readonly done: (outcome: Exit.Exit<number, Overtaken>) => void
}

/** The other processes of this database. */
export interface Others {
  readonly written: (ownerOrSandboxIds: ReadonlyArray<string>) => void
  /** Somebody here waits for what they store, or nobody any more. */
  readonly listening: (listens: boolean) => void
}

export interface StoredOffsets {
  readonly stdout: number
  readonly stderr: number
}

const batchBytesMax = 2 * 1024 * 1024
/**
 * That stream does not end where its writer believes it to end: somebody else stored bytes of it meanwhile, or the database crashed and forgot
 * its last ones. Read its offset and go on from there. Streams of the same call may be stored.
 */
export class Overtaken extends Data.TaggedError("Overtaken")<{ readonly ownerId: string }> {}

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
      const jobs = yield* Queue.unbounded<Job>()
      const listeners = new Map<string, Set<() => void>>()
      let others: Others | null = null
      const { untilServed } = yield* DatabaseWatch
      const patiently = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
        effect.pipe(Effect.retry(forAMoment), Effect.orDie)

      const write = (batch: ReadonlyArray<Job>): Effect.Effect<void> => {
        const chunks = batch.flatMap((job) => job.chunks)
        // A chunk that cannot be encoded is found as one is that the database refuses.
        const stored = Effect.suspend(() =>
          sql.unsafe<AppendedRow>(appendStatement, [
            textColumn(chunks.map((chunk) => chunk.ownerId)),
            textColumn(chunks.map((chunk) => chunk.stream)),
            textColumn(chunks.map((chunk) => chunk.sandboxId)),
            textColumn(chunks.map((chunk) => chunk.source)),
            int8Column(chunks.map((chunk) => BigInt(chunk.offset))),
            int8Column(chunks.map((chunk) => BigInt(chunk.offset + chunk.bytes.length))),
            int8Column(chunks.map((chunk) => BigInt(chunk.follows))),
            int8Column(chunks.map((chunk) => BigInt(chunk.at))),
            int4Column(firsts(chunks)),
            joined(chunks.map((chunk) => chunk.bytes))
          ])
        )
        return stored.pipe(
          untilServed,
          Effect.matchCauseEffect({
            onSuccess: (rows) =>
              Effect.sync(() => {
                const advanced = new Set<string>()
                const totals = new Map<string, number>()
                for (const row of rows) {
                  if (row.sandbox_id === null) advanced.add(streamOf(row.owner_id, row.stream))
                  else totals.set(row.sandbox_id, Number(row.stored_bytes))
                }
                for (const job of batch) {
                  const missed = job.chunks.find((chunk) => !advanced.has(streamOf(chunk.ownerId, chunk.stream)))
                  if (missed === undefined) job.done(Exit.succeed(totals.get(job.chunks[0]!.sandboxId) ?? 0))
                  else job.done(Exit.fail(new Overtaken({ ownerId: missed.ownerId })))
                }
              }),
            onFailure: (cause) =>
              batch.length === 1
                ? Effect.sync(() => batch[0]!.done(Exit.die(Cause.squash(cause))))
                : Effect.forEach(batch, (job) => write([job]), { discard: true })
          })
        )
      }

      // One statement can move a stream once: a second job for it waits for the next statement.
      const writeNext = Effect.gen(function* () {
        const batch = [yield* Queue.take(jobs)]
        const streams = new Set(streamsOf(batch[0]!))
        let bytes = sizeOf(batch[0]!)
        while (bytes < batchBytesMax && Queue.sizeUnsafe(jobs) > 0) {
          const next = yield* Queue.take(jobs)
          if (streamsOf(next).some((stream) => streams.has(stream))) {
            yield* write(batch)
            return yield* write([next])
          }
          for (const stream of streamsOf(next)) streams.add(stream)
          batch.push(next)
          bytes += sizeOf(next)
        }
        yield* write(batch)
      })
      for (let writer = 0; writer < 2; writer++) yield* vitalWorker("output writes", Effect.forever(writeNext))

      // One flush for all that ask while the last one is under way.
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
        const storedBytes = yield* Effect.callback<number, Overtaken>((resume) => {
          Queue.offerUnsafe(jobs, {
            chunks,
            done: resume
          })
        })
        const ids = new Set([sandboxId, ...chunks.map((chunk) => chunk.ownerId)])
        for (const id of ids) for (const listener of listeners.get(id) ?? []) listener()
        others?.written([...ids])
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
        durable: (ownerId) =>
          Effect.callback<StoredOffsets>((resume) => {
            Queue.offerUnsafe(flushes, { ownerId, done: resume })
          }),
        offsets: (ownerId) => Effect.map(offsetsOf([ownerId]), (found) => found.get(ownerId)!),
        offsetsAtLast: (ownerId) =>
          untilServed(findEnds([ownerId])).pipe(
            Effect.orDie,
            Effect.map((found) => found.get(ownerId)!)
          ),
        offsetsOf,
        read: Effect.fnUntraced(function* (ownerId, stream, offset, limit) {
          const [totals] = yield* patiently(
            sql.unsafe<{ readonly next_offset: bigint; readonly retained_offset: bigint }>(
              "select next_offset, retained_offset from outputs where owner_id = $1 and stream = $2",
              [ownerId, stream]
            )
          )
          const totalBytes = Number(totals?.next_offset ?? 0)
          const retained = Number(totals?.retained_offset ?? 0)
          const nothing = { bytes: new Uint8Array(0), totalBytes }
          if (offset >= totalBytes) return { offset, nextOffset: offset, truncated: false, ...nothing }
          const start = Math.max(offset, retained)
          const rowsFrom = (from: number) =>
            patiently(
              sql.unsafe<{ readonly start_offset: bigint; readonly bytes: Uint8Array }>(pageStatement, [
                ownerId,
                stream,
                BigInt(from),
                BigInt(from + limit)
              ])
            )
          let rows = yield* rowsFrom(start)
          if (rows.length === 0) {
            // A gap that is larger than the page, or trimmed between the two reads: what is left starts later, or there is nothing.
            const [next] = yield* patiently(
              sql.unsafe<{ readonly start_offset: bigint }>(nextChunkStatement, [ownerId, stream, BigInt(start)])
            )
            if (next === undefined) return { offset: totalBytes, nextOffset: totalBytes, truncated: true, ...nothing }
            rows = yield* rowsFrom(Number(next.start_offset))
          }
          const from = Math.max(start, Number(rows[0]?.start_offset ?? start))
          const parts: Array<Uint8Array> = []
          let next = from
          for (const row of rows) {
            const begin = Number(row.start_offset)
            if (begin > next) break
            const skip = next - begin
            if (skip >= row.bytes.length) continue
            const part = row.bytes.subarray(skip, Math.min(row.bytes.length, skip + (from + limit - next)))
            parts.push(part)
            next += part.length
            if (next >= from + limit) break
          }
          return { offset: from, nextOffset: next, bytes: Buffer.concat(parts), truncated: from > offset, totalBytes }
        }),
        trim: (ownerId, stream, keepBytes) =>
          patiently(room.trim(ownerId, stream, keepBytes)).pipe(
            Effect.andThen(Effect.sync(() => void inBackground(vacuum)))
          ),
        onAppend: (id, listener) => {
          const set = listeners.get(id) ?? new Set()
          set.add(listener)
          listeners.set(id, set)
          others?.listening(true)
          return () => {
            set.delete(listener)
            if (set.size === 0 && listeners.get(id) === set) listeners.delete(id)
            if (listeners.size === 0) others?.listening(false)
          }
        },
        storedElsewhere: (ids) => {
          for (const id of ids ?? listeners.keys()) for (const listener of listeners.get(id) ?? []) listener()
        },
        meetOthers: (met) => {
          others = met
          if (listeners.size > 0) met.listening(true)
          return () => {
            others = null
          }
        }
      })
    })
  )
}

/** Of a stream that was moved, or of a Sandbox. */
type AppendedRow =
  | { readonly sandbox_id: null; readonly owner_id: string; readonly stream: OutputStreamName }
  | { readonly sandbox_id: string; readonly stored_bytes: bigint }

interface EndRow {
  readonly owner_id: string
  /** Null: nothing is stored of it. */
  readonly stream: OutputStreamName | null
  readonly next_offset: bigint | null
}

const endsOf = (ownerIds: ReadonlyArray<string>, rows: ReadonlyArray<EndRow>): ReadonlyMap<string, StoredOffsets> => {
  const found = new Map(ownerIds.map((ownerId) => [ownerId, { stdout: 0, stderr: 0 }]))
  for (const { owner_id, stream, next_offset } of rows) {
    if (stream !== null) found.get(owner_id)![stream] = Number(next_offset)
  }
  return found
}

/** Where each chunk begins among the bytes of all, counted from 1. */
const firsts = (chunks: ReadonlyArray<OutputChunk>): ReadonlyArray<number> => {
  let next = 1
  return chunks.map(({ bytes }) => {
    const first = next
    next += bytes.length
    return first
  })
}

/** All bytes as one piece, without a copy of those that lie one behind the other in memory, as those of one writer do. */
const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = parts
  if (first === undefined) return new Uint8Array(0)
  let end = first.byteOffset
  for (const part of parts) {
    if (part.buffer !== first.buffer || part.byteOffset !== end) return Buffer.concat(parts)
    end += part.length
  }
  return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset)
}

const streamOf = (ownerId: string, stream: OutputStreamName) => `${stream} ${ownerId}`

const streamsOf = (job: Job) => job.chunks.map((chunk) => streamOf(chunk.ownerId, chunk.stream))

const costOf = (chunks: ReadonlyArray<OutputChunk>) =>
  chunks.reduce((sum, { bytes }) => sum + bytes.length + chunkOverheadBytes, 0)

const sizeOf = (job: Job) => job.chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0)
