/** The writers of output: chunks of many callers go out in one statement, and each caller waits for its own. */
import { Cause, Effect, Exit, Queue, type Scope } from "effect"
import { vitalWorker } from "../platform/worker/Worker.ts"
import { int4Column, int8Column, textColumn } from "./Columns.ts"
import type { OutputDatabase } from "./Database.ts"
import type { DatabaseWatch } from "./DatabaseWatch.ts"
import { type OutputChunk, type OutputStreamName, Overtaken } from "./OutputChunk.ts"
import { appendStatement } from "./OutputStatements.ts"

interface Job {
  readonly chunks: ReadonlyArray<OutputChunk>
  /** What the Sandbox stores now, or why nothing of this was stored. */
  readonly done: (outcome: Exit.Exit<number, Overtaken>) => void
}

const batchBytesMax = 2 * 1024 * 1024
const writers = 2

/** Of a stream that was moved, or of a Sandbox. */
type AppendedRow =
  | { readonly sandbox_id: null; readonly owner_id: string; readonly stream: OutputStreamName }
  | { readonly sandbox_id: string; readonly stored_bytes: bigint }

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

/** Makes `write`: one statement for a batch, or one for each of its jobs where the database refuses it. */
const batchWriter = (sql: OutputDatabase["Service"], untilServed: DatabaseWatch["Service"]["untilServed"]) => {
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
  return write
}

/** Takes what waits, as far as one statement can: it moves a stream once, so a second job for it waits for the next statement. */
const writeNext = (jobs: Queue.Queue<Job>, write: (batch: ReadonlyArray<Job>) => Effect.Effect<void>) =>
  Effect.gen(function* () {
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

/** Starts the writers, and gives how to hand them chunks: it resolves with what the Sandbox stores then. */
export const outputWrites = Effect.fnUntraced(function* (
  sql: OutputDatabase["Service"],
  untilServed: DatabaseWatch["Service"]["untilServed"]
): Effect.fn.Return<(chunks: ReadonlyArray<OutputChunk>) => Effect.Effect<number, Overtaken>, never, Scope.Scope> {
  const jobs = yield* Queue.unbounded<Job>()
  const next = writeNext(jobs, batchWriter(sql, untilServed))
  for (let writer = 0; writer < writers; writer++) yield* vitalWorker("output writes", Effect.forever(next))
  return (chunks) =>
    Effect.callback((resume) => {
      Queue.offerUnsafe(jobs, { chunks, done: resume })
    })
})
