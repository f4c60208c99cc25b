/** Reads a page of one stream of output. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { OutputDatabase } from "./Database.ts"
import type { OutputPage, OutputStreamName } from "./OutputChunk.ts"
import { nextChunkStatement, pageStatement } from "./OutputStatements.ts"
import type { OutputTail } from "./OutputTail.ts"

/** A reader so near to the end follows. */
const followsBytes = 1024 ** 2

interface ChunkRow {
  readonly start_offset: bigint
  readonly bytes: Uint8Array
}

interface Wanted {
  readonly ownerId: string
  readonly stream: OutputStreamName
  readonly offset: number
  readonly limit: number
}

/** A page from memory alone; null where it is not there. */
export const newestPage = (
  tail: OutputTail,
  { ownerId, stream, offset, limit }: Wanted,
  enough?: number
): OutputPage | null => {
  const bytes = tail.read(ownerId, stream, offset, offset + limit, enough)
  if (bytes === null) return null
  const nextOffset = offset + bytes.length
  return { offset, nextOffset, bytes, truncated: false, totalBytes: nextOffset }
}

/** The bytes from `from` on, up to `limit` of them or to the first gap. */
const contiguous = (
  rows: ReadonlyArray<ChunkRow>,
  from: number,
  limit: number
): { readonly bytes: Uint8Array; readonly next: number } => {
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
  return { bytes: Buffer.concat(parts), next }
}

/**
 * @param patiently How a read outlasts a short fault of the database.
 * @param tail Has the newest bytes of followed streams.
 */
export const readOutputPage = Effect.fnUntraced(function* (
  sql: OutputDatabase["Service"],
  tail: OutputTail,
  patiently: <A>(effect: Effect.Effect<A, SqlError.SqlError>) => Effect.Effect<A>,
  { ownerId, stream, offset, limit }: Wanted
): Effect.fn.Return<OutputPage> {
  const [totals] = yield* patiently(
    sql.unsafe<{ readonly next_offset: bigint; readonly retained_offset: bigint }>(
      "select next_offset, retained_offset from outputs where owner_id = $1 and stream = $2",
      [ownerId, stream]
    )
  )
  const totalBytes = Number(totals?.next_offset ?? 0)
  const retained = Number(totals?.retained_offset ?? 0)
  const nothing = { bytes: new Uint8Array(0), totalBytes }
  if (offset >= totalBytes) {
    tail.follow(ownerId, stream)
    return { offset, nextOffset: offset, truncated: false, ...nothing }
  }
  const start = Math.max(offset, retained)
  if (totalBytes - start <= followsBytes) tail.follow(ownerId, stream)
  const newest = tail.read(ownerId, stream, start, Math.min(start + limit, totalBytes))
  if (newest !== null) {
    return { offset: start, nextOffset: start + newest.length, bytes: newest, truncated: start > offset, totalBytes }
  }
  const rowsFrom = (from: number) =>
    patiently(sql.unsafe<ChunkRow>(pageStatement, [ownerId, stream, BigInt(from), BigInt(from + limit)]))
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
  const { bytes, next } = contiguous(rows, from, limit)
  return { offset: from, nextOffset: next, bytes, truncated: from > offset, totalBytes }
})
