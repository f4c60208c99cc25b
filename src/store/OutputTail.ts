/**
 * The newest stored bytes of streams that somebody follows, so that the database does not read back what it was just given. Reading back
 * costs more CPU than storing, and each of its round trips lets the writer get further ahead.
 *
 * Bytes enter after their commit, and the bytes of an offset never change. So a reader sees nothing that it would not see in the database.
 * Where a stream ends is not known here: another process may have continued it. A stream is kept while it is both read and written: most of it only
 * for a moment, since one that has ended looks like one that is quiet. The bytes of all streams are bounded.
 */
import type { OutputChunk, OutputStreamName } from "./OutputChunk.ts"

export interface OutputTailBounds {
  readonly streamBytes: number
  readonly totalBytes: number
  /** Of a stream that was not read, or not written, for `quietMs` so much is left. After `droppedMs` it is dropped. */
  readonly quietBytes: number
  readonly quietMs: number
  readonly droppedMs: number
}

const kibibyte = 1024
const mebibyte = 1024 ** 2
const usual: OutputTailBounds = {
  streamBytes: 8 * mebibyte,
  totalBytes: 32 * mebibyte,
  quietBytes: 64 * kibibyte,
  quietMs: 1000,
  droppedMs: 5000
}

/** Contiguous pieces of one stream. */
interface Tail {
  pieces: Array<Uint8Array>
  /** Offset of the first piece. */
  start: number
  end: number
  readAt: number
  writtenAt: number
}

const keyOf = (ownerId: string, stream: OutputStreamName) => `${stream} ${ownerId}`

/** The bytes of each chunk: as they are where they fill most of the memory that they are a view of, otherwise copied. */
const lean = (chunks: ReadonlyArray<OutputChunk>): ReadonlyArray<Uint8Array> => {
  const used = new Map<ArrayBufferLike, number>()
  for (const { bytes } of chunks) used.set(bytes.buffer, (used.get(bytes.buffer) ?? 0) + bytes.length)
  return chunks.map(({ bytes }) =>
    2 * used.get(bytes.buffer)! >= bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
  )
}

export class OutputTail {
  readonly #bounds: OutputTailBounds
  /** Those whose reader came last are last. */
  readonly #tails = new Map<string, Tail>()
  #bytes = 0
  #sweeping: NodeJS.Timeout | null = null

  constructor(bounds = usual) {
    this.#bounds = bounds
  }

  /** Bytes in memory; with what they are views of, at most twice as many. */
  get bytes(): number {
    return this.#bytes
  }

  /** These chunks, of one append, are stored. */
  stored(chunks: ReadonlyArray<OutputChunk>): void {
    if (this.#tails.size === 0) return
    const now = performance.now()
    const followed = chunks.filter(({ ownerId, stream }) => this.#tails.has(keyOf(ownerId, stream)))
    const pieces = lean(followed)
    for (const [index, { ownerId, stream, offset }] of followed.entries()) {
      const tail = this.#tails.get(keyOf(ownerId, stream))!
      // After a gap, or after a crash of the database that forgot bytes: what is here does not precede this.
      if (offset !== tail.end) this.#empty(tail, offset)
      const piece = pieces[index]!
      tail.pieces.push(piece)
      tail.end += piece.length
      tail.writtenAt = now
      this.#bytes += piece.length
      this.#shorten(tail, this.#bounds.streamBytes)
    }
    for (const [key, tail] of this.#tails) {
      if (this.#bytes <= this.#bounds.totalBytes) break
      this.#drop(key, tail)
    }
  }

  /** A reader reads the newest bytes of this stream, and will probably read those that follow. */
  follow(ownerId: string, stream: OutputStreamName): void {
    const key = keyOf(ownerId, stream)
    const now = performance.now()
    const tail = this.#tails.get(key) ?? { pieces: [], start: 0, end: 0, readAt: now, writtenAt: now }
    tail.readAt = now
    this.#tails.delete(key)
    this.#tails.set(key, tail)
    this.#sweeping ??= setTimeout(this.#sweep, this.#bounds.quietMs).unref()
  }

  /**
   * The bytes from `from` to `to`, or as many as are here; null: the first is not. They may end earlier, with a stored piece that has `enough` of
   * them: then they are a view, and not a copy.
   */
  read(ownerId: string, stream: OutputStreamName, from: number, to: number, enough = to - from): Uint8Array | null {
    const tail = this.#tails.get(keyOf(ownerId, stream))
    if (tail === undefined || from < tail.start || from >= tail.end) return null
    tail.readAt = performance.now()
    const parts: Array<Uint8Array> = []
    let at = tail.start
    for (const piece of tail.pieces) {
      if (at >= to) break
      if (at + piece.length > from) parts.push(piece.subarray(Math.max(0, from - at), to - at))
      if (parts.length === 1 && parts[0]!.length >= enough) break
      at += piece.length
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /** All but the last bytes of the stream were deleted. */
  trim(ownerId: string, stream: OutputStreamName, keepBytes: number): void {
    const tail = this.#tails.get(keyOf(ownerId, stream))
    if (tail !== undefined) this.#shorten(tail, keepBytes)
  }

  /** Its writer was wrong about what is stored. */
  forget(ownerId: string): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const key = keyOf(ownerId, stream)
      const tail = this.#tails.get(key)
      if (tail !== undefined) this.#drop(key, tail)
    }
  }

  /** Keeps the last bytes only. */
  #shorten(tail: Tail, keepBytes: number): void {
    let excess = tail.end - tail.start - keepBytes
    while (excess > 0) {
      const first = tail.pieces.shift()!
      const gone = Math.min(excess, first.length)
      if (gone < first.length) tail.pieces.unshift(first.subarray(gone))
      tail.start += gone
      this.#bytes -= gone
      excess -= gone
    }
  }

  #empty(tail: Tail, offset: number): void {
    this.#bytes -= tail.end - tail.start
    tail.pieces = []
    tail.start = offset
    tail.end = offset
  }

  #drop(key: string, tail: Tail): void {
    this.#empty(tail, 0)
    this.#tails.delete(key)
  }

  readonly #sweep = (): void => {
    this.#sweeping = null
    const now = performance.now()
    for (const [key, tail] of this.#tails) {
      const isQuietFor = now - Math.min(tail.readAt, tail.writtenAt)
      if (isQuietFor >= this.#bounds.droppedMs) this.#drop(key, tail)
      else if (isQuietFor >= this.#bounds.quietMs) this.#shorten(tail, this.#bounds.quietBytes)
    }
    if (this.#tails.size > 0) this.#sweeping = setTimeout(this.#sweep, this.#bounds.quietMs).unref()
  }
}
