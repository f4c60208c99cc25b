/**
 * Command output, stored once: read as the output of an operation by absolute offset, and as the log of a Sandbox by time.
 *
 * Chunks of many writers go out in one statement; each writer waits for its own, so an endless writer is slowed to what the
 * store takes and never holds more memory than one write.
 *
 * @source contract.md OperationOutputChunk, SandboxLogs; contract-details.md "retention"
 */
import { Context, Data, Effect, Layer, Queue, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { int4Column, int8Column, textColumn } from "./Columns.ts"
import { OutputDatabase } from "./Database.ts"

export type OutputSource = "workload" | "execute" | "process"
export type OutputStreamName = "stdout" | "stderr"

export interface OutputChunk {
  /** An operation, a synchronous execute, or the console of one generation. */
  readonly ownerId: string
  readonly stream: OutputStreamName
  readonly sandboxId: string
  readonly source: OutputSource
  /** Absolute offset of the first byte. */
  readonly offset: number
  /** At most 64 KiB. */
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
  readonly done: (error: SqlError.SqlError | Overtaken | null) => void
}

const batchBytesMax = 2 * 1024 * 1024
const pageChunksMax = 4096

// A stream's end moves only from where the writer believes it to be, or over a gap. A statement of a process that was killed may still be on
// its way while the next one follows the same command: whichever of the two comes second stores nothing. `retained_offset` carries the
// writer's begin: a stream that does not begin at 0 has nothing before it either. The bytes of all chunks come as one value and are cut here:
// as an array they would be copied once more on either side, a third of the whole time.
const appendStatement = `
  with input as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int4[])
      as i (owner_id, stream, sandbox_id, source, start_offset, end_offset, at, first)
  ), advanced as (
    insert into outputs (owner_id, stream, sandbox_id, source, next_offset, retained_offset)
    select owner_id, stream, min(sandbox_id), min(source), max(end_offset), min(start_offset)
    from input group by owner_id, stream order by owner_id, stream
    on conflict (owner_id, stream) do update set next_offset = excluded.next_offset
      where outputs.next_offset <= excluded.retained_offset
    returning owner_id, stream
  ), stored as (
    insert into output_chunks (owner_id, stream, start_offset, end_offset, sandbox_id, source, at, bytes)
    select i.owner_id, i.stream, i.start_offset, i.end_offset, i.sandbox_id, i.source, i.at,
      substring($9::bytea from i.first for (i.end_offset - i.start_offset)::int4)
    from input i join advanced a on a.owner_id = i.owner_id and a.stream = i.stream
  )
  select owner_id, stream from advanced`

/** Somebody else stored bytes of that stream meanwhile: read its offset and go on from there. Streams of the same call may be stored. */
export class Overtaken extends Data.TaggedError("Overtaken")<{ readonly ownerId: string }> {}

export class Output extends Context.Service<
  Output,
  {
    /** Stored when it returns (durable with the next journal commit). Chunks of one stream must follow each other. */
    readonly append: (chunks: ReadonlyArray<OutputChunk>) => Effect.Effect<void, Overtaken>
    /**
     * Returns once everything that was appended before is on disk, and outlives a crash of the database: only then may whoever else has the
     * bytes drop them. Many that wait at once share one flush.
     */
    readonly durable: Effect.Effect<void>
    /** How much of each stream is stored. */
    readonly offsets: (ownerId: string) => Effect.Effect<{ readonly stdout: number; readonly stderr: number }>
    /** The same for many owners at once. */
    readonly offsetsOf: (
      ownerIds: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, { readonly stdout: number; readonly stderr: number }>>
    readonly read: (
      ownerId: string,
      stream: OutputStreamName,
      offset: number,
      limit: number
    ) => Effect.Effect<OutputPage>
    /** Forgets all but the last `keepBytes` of a stream. */
    readonly trim: (ownerId: string, stream: OutputStreamName, keepBytes: number) => Effect.Effect<void>
    /** Calls back after bytes of that owner were stored by this process. */
    readonly onAppend: (ownerId: string, listener: () => void) => () => void
  }
>()("atoll/store/Output") {
  static readonly layer = Layer.effect(
    Output,
    Effect.gen(function* () {
      const sql = yield* OutputDatabase
      const main = yield* SqlClient.SqlClient
      const jobs = yield* Queue.unbounded<Job>()
      const listeners = new Map<string, Set<() => void>>()
      const retryStorage = Schedule.min([Schedule.exponential(50), Schedule.spaced(2000)])
      const patiently = <A>(effect: Effect.Effect<A, SqlError.SqlError>) =>
        effect.pipe(Effect.retry({ schedule: retryStorage, while: (error) => error.isRetryable }), Effect.orDie)

      const write = (batch: ReadonlyArray<Job>): Effect.Effect<void> => {
        const chunks = batch.flatMap((job) => job.chunks)
        return sql
          .unsafe<{ readonly owner_id: string; readonly stream: OutputStreamName }>(appendStatement, [
            textColumn(chunks.map((chunk) => chunk.ownerId)),
            textColumn(chunks.map((chunk) => chunk.stream)),
            textColumn(chunks.map((chunk) => chunk.sandboxId)),
            textColumn(chunks.map((chunk) => chunk.source)),
            int8Column(chunks.map((chunk) => BigInt(chunk.offset))),
            int8Column(chunks.map((chunk) => BigInt(chunk.offset + chunk.bytes.length))),
            int8Column(chunks.map((chunk) => BigInt(chunk.at))),
            int4Column(firsts(chunks)),
            joined(chunks.map((chunk) => chunk.bytes))
          ])
          .pipe(
            Effect.tapError((error) => Effect.logWarning("Output could not be stored", error.message)),
            Effect.retry({ schedule: retryStorage, while: (error) => error.isRetryable }),
            Effect.matchEffect({
              onSuccess: (rows) =>
                Effect.sync(() => {
                  const advanced = new Set(rows.map((row) => streamOf(row.owner_id, row.stream)))
                  for (const job of batch) {
                    const missed = job.chunks.find((chunk) => !advanced.has(streamOf(chunk.ownerId, chunk.stream)))
                    job.done(missed === undefined ? null : new Overtaken({ ownerId: missed.ownerId }))
                  }
                }),
              onFailure: (error) =>
                batch.length === 1
                  ? Effect.sync(() => batch[0]!.done(error))
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
      for (let writer = 0; writer < 2; writer++) yield* Effect.forkScoped(Effect.forever(writeNext))

      // A transaction that wrote something and waits for the disk takes all that was written before it along.
      const flushes = yield* Queue.unbounded<() => void>()
      const flushNext = Effect.gen(function* () {
        const waiting = yield* Queue.takeAll(flushes)
        yield* main`select pg_logical_emit_message(true, 'atoll', ''::text)::text`.pipe(
          Effect.tapError((error) => Effect.logWarning("Output could not be made durable", error.message)),
          Effect.retry(retryStorage)
        )
        for (const done of waiting) done()
      })
      yield* Effect.forkScoped(Effect.forever(flushNext))

      const offsetsOf = (ownerIds: ReadonlyArray<string>) =>
        patiently(
          sql.unsafe<{ readonly owner_id: string; readonly stream: OutputStreamName; readonly next_offset: bigint }>(
            "select owner_id, stream, next_offset from outputs where owner_id = any($1::text[])",
            [textColumn(ownerIds)]
          )
        ).pipe(
          Effect.map((rows) => {
            const found = new Map<string, { stdout: number; stderr: number }>()
            for (const ownerId of ownerIds) found.set(ownerId, { stdout: 0, stderr: 0 })
            for (const row of rows) found.get(row.owner_id)![row.stream] = Number(row.next_offset)
            return found
          })
        )

      return Output.of({
        append: Effect.fnUntraced(function* (chunks) {
          if (chunks.length === 0) return
          yield* Effect.callback<void, Overtaken>((resume) => {
            Queue.offerUnsafe(jobs, {
              chunks,
              done: (error) => {
                if (error === null) resume(Effect.void)
                else resume(error instanceof Overtaken ? Effect.fail(error) : Effect.die(error))
              }
            })
          })
          for (const ownerId of new Set(chunks.map((chunk) => chunk.ownerId))) {
            for (const listener of listeners.get(ownerId) ?? []) listener()
          }
        }, Effect.uninterruptible),
        durable: Effect.callback<void>((resume) => {
          Queue.offerUnsafe(flushes, () => resume(Effect.void))
        }),
        offsets: (ownerId) => Effect.map(offsetsOf([ownerId]), (found) => found.get(ownerId)!),
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
          const rows = yield* patiently(
            sql.unsafe<{ readonly start_offset: bigint; readonly bytes: Uint8Array }>(
              `select start_offset, bytes from output_chunks
               where owner_id = $1 and stream = $2 and start_offset < $4::int8 and end_offset > $3::int8 and start_offset > $3::int8 - 65536
               order by start_offset limit ${pageChunksMax}`,
              [ownerId, stream, BigInt(start), BigInt(start + limit)]
            )
          )
          const first = rows[0]
          // Trimmed between the two reads: what is left starts later.
          const from = first === undefined ? start : Math.max(start, Number(first.start_offset))
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
          patiently(
            sql.unsafe(
              `with kept as (
                 update outputs set retained_offset = greatest(retained_offset, next_offset - $3::int8)
                 where owner_id = $1 and stream = $2
                 returning retained_offset
               )
               delete from output_chunks c using kept
               where c.owner_id = $1 and c.stream = $2 and c.end_offset <= kept.retained_offset`,
              [ownerId, stream, BigInt(keepBytes)]
            )
          ).pipe(Effect.asVoid),
        onAppend: (ownerId, listener) => {
          const set = listeners.get(ownerId) ?? new Set()
          set.add(listener)
          listeners.set(ownerId, set)
          return () => {
            set.delete(listener)
            if (set.size === 0) listeners.delete(ownerId)
          }
        }
      })
    })
  )
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

const sizeOf = (job: Job) => job.chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0)
