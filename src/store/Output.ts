/**
 * Command output, stored once. It is read as an operation's output by absolute offset, and as a Sandbox's log by time.
 *
 * One statement stores chunks of many writers. Each writer waits for its own chunks (backpressure), so an endless writer is slowed to the
 * store's rate and never holds more memory than one write.
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
  /** Where the writer expects the stream to end now: `offset`, or less where the producer reported that the bytes between are lost. */
  readonly follows: number
  /** Absolute offset of the first byte. */
  readonly offset: number
  /** At most 64 KiB; empty where only the end moves, over lost bytes. */
  readonly bytes: Uint8Array
  /** Epoch milliseconds. */
  readonly at: number
}

export interface OutputPage {
  readonly offset: number
  readonly nextOffset: number
  readonly bytes: Uint8Array
  /** Retention has dropped bytes from the requested offset on. */
  readonly truncated: boolean
  /** Bytes ever stored of this stream. */
  readonly totalBytes: number
}

interface Job {
  readonly chunks: ReadonlyArray<OutputChunk>
  /** Bytes that the Sandbox stores now, or why none of these chunks was stored. */
  readonly done: (outcome: Exit.Exit<number, Overtaken>) => void
}

/** The other processes of this database. */
export interface Others {
  readonly written: (ownerOrSandboxIds: ReadonlyArray<string>) => void
  /** Announces that this process has begun, or has ceased, to wait for their chunks. */
  readonly listening: (listens: boolean) => void
}

export interface StoredOffsets {
  readonly stdout: number
  readonly stderr: number
}

const batchBytesMax = 2 * 1024 * 1024
/**
 * The stream does not end where its writer expects: another process stored bytes of it meanwhile, or the database crashed and lost
 * its last bytes. Read its offset and continue from there. Other streams of the same call may be stored.
 */
export class Overtaken extends Data.TaggedError("Overtaken")<{ readonly ownerId: string }> {}

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
      const jobs = yield* Queue.unbounded<Job>()
      const listeners = new Map<string, Set<() => void>>()
      let others: Others | null = null
      const { untilServed } = yield* DatabaseWatch
      const patiently = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
        effect.pipe(Effect.retry(forAMoment), Effect.orDie)

      const write = (batch: ReadonlyArray<Job>): Effect.Effect<void> => {
        const chunks = batch.flatMap((job) => job.chunks)
        // A chunk that cannot be encoded is treated like a chunk that the database rejects.
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

      // A statement can move a stream only once: a second job for the same stream waits for the next statement.
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

      // One flush serves all requests that arrive during the previous one.
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
            // The gap is larger than the page, or a trim ran between the two reads: the rest starts later, or is gone.
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

/** A row for each stream that moved, and for each Sandbox. */
type AppendedRow =
  | { readonly sandbox_id: null; readonly owner_id: string; readonly stream: OutputStreamName }
  | { readonly sandbox_id: string; readonly stored_bytes: bigint }

interface EndRow {
  readonly owner_id: string
  /** Null: no output is stored. */
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

/** The start of each chunk among the bytes of all, counted from 1. */
const firsts = (chunks: ReadonlyArray<OutputChunk>): ReadonlyArray<number> => {
  let next = 1
  return chunks.map(({ bytes }) => {
    const first = next
    next += bytes.length
    return first
  })
}

/** All bytes as one array. Adjacent parts of one buffer, as one writer's are, are not copied. */
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
