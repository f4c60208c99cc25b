/**
 * Bytes of one stream on their way into the store: cut into chunks of at most 64 KiB, never inside a UTF-8 character.
 *
 * @source contract-details.md "A log entry is one stored chunk of one stream"
 */
import { chunkBytesMax } from "../store/OutputStatements.ts"

/** How many bytes at the end of `bytes` begin a UTF-8 character that is not complete there (0 to 3). */
export const openCharacter = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length =
      byte >= 0b1111_0000 && byte <= 0b1111_0100
        ? 4
        : byte >= 0b1110_0000
          ? byte < 0b1111_0000
            ? 3
            : 1
          : byte >= 0b1100_0010
            ? 2
            : 1
    return length > back ? back : 0
  }
  return 0
}

export interface Piece {
  /** Absolute offset of the first byte. */
  readonly offset: number
  readonly bytes: Uint8Array
}

/** One that can be stored. */
export interface Cut extends Piece {
  /** Where the stream ended before: `offset`, or less where the bytes between are gone at their source. */
  readonly follows: number
}

/** Those of a stream's next cuts that hold any of its last `keepBytes`; the others would be forgotten as soon as they are stored, and are told as gone. */
export const lastOf = (keepBytes: number, cuts: ReadonlyArray<Cut>): ReadonlyArray<Cut> => {
  const last = cuts.at(-1)
  if (last === undefined) return cuts
  const end = last.offset + last.bytes.length
  const first = cuts.findIndex(({ offset, bytes }) => offset + bytes.length > end - keepBytes)
  if (first === 0) return cuts
  const { follows } = cuts[0]!
  if (first === -1) return [{ follows, offset: end, bytes: new Uint8Array(0) }]
  return [{ ...cuts[first]!, follows }, ...cuts.slice(first + 1)]
}

/** One stream's bytes that are not stored yet, from an absolute offset on. */
export class OutputSplit {
  /** End of what was cut off. */
  #end: number
  /** Where the next byte to cut off belongs: behind `#end` when bytes are gone. */
  #offset: number
  /** Given and not yet cut off: pieces that follow each other from `#offset` on, joined once at each cut. */
  #rest: Array<Uint8Array> = []
  #restBytes = 0

  constructor(offset: number) {
    this.#end = offset
    this.#offset = offset
  }

  /** End of everything that was cut off so far. */
  get offset() {
    return this.#end
  }

  /** What can be stored now of the bytes given so far; with `isEnd` all of it. Bytes already seen are skipped, a gap is told by what follows it. */
  take(pieces: ReadonlyArray<Piece>, isEnd: boolean): ReadonlyArray<Cut> {
    const ready: Array<Cut> = []
    for (const { offset, bytes } of pieces) {
      const expected = this.#offset + this.#restBytes
      if (offset > expected) {
        this.#cut(ready, true)
        this.#offset = offset
        this.#push(bytes)
      } else if (offset + bytes.length > expected) this.#push(bytes.subarray(expected - offset))
    }
    this.#cut(ready, isEnd)
    return ready
  }

  /** The stream is this long: what was not given is gone. Nothing, or a cut without bytes. After `take` with `isEnd`. */
  endAt(offset: number): ReadonlyArray<Cut> {
    if (offset <= this.#offset) return []
    const follows = this.#end
    this.#offset = offset
    this.#end = offset
    return [{ follows, offset, bytes: new Uint8Array(0) }]
  }

  #push(bytes: Uint8Array) {
    this.#rest.push(bytes)
    this.#restBytes += bytes.length
  }

  #cut(ready: Array<Cut>, isEnd: boolean) {
    if (this.#restBytes === 0) return
    const whole = this.#rest.length === 1 ? this.#rest[0]! : Buffer.concat(this.#rest, this.#restBytes)
    let from = 0
    while (from < whole.length) {
      const piece = whole.subarray(from, from + chunkBytesMax)
      const open = isEnd && from + piece.length === whole.length ? 0 : openCharacter(piece)
      const bytes = piece.subarray(0, piece.length - open)
      if (bytes.length === 0) break
      ready.push({ follows: this.#end, offset: this.#offset, bytes })
      this.#offset += bytes.length
      this.#end = this.#offset
      from += bytes.length
    }
    // What is left is the begin of one character: a copy, so that it does not keep the whole alive.
    this.#rest = from < whole.length ? [whole.slice(from)] : []
    this.#restBytes = whole.length - from
  }
}
