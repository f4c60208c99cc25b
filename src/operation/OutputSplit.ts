/**
 * Cuts the bytes of one stream into chunks for the store: at most 64 KiB, never inside a UTF-8 character.
 *
 * @source contract-details.md "A log entry is one stored chunk of one stream"
 */
import { chunkBytesMax } from "../store/OutputStatements.ts"

/** Length of an incomplete UTF-8 character at the end of `bytes` (0 to 3). */
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

/** A chunk ready to store. */
export interface Cut extends Piece {
  /** The stream's previous end: `offset`, or less if the bytes between were lost at their source. */
  readonly follows: number
}

/** The cuts that hold any of the stream's last `keepBytes`. The others would be deleted right after they are stored, so they are reported as lost. */
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

/** Unstored bytes of one stream, from an absolute offset on. */
export class OutputSplit {
  /** End of the cuts so far. */
  #end: number
  /** Offset of the next byte to cut: beyond `#end` if bytes were lost. */
  #offset: number
  /** Bytes not cut yet: contiguous pieces from `#offset` on, joined once at each cut. */
  #rest: Array<Uint8Array> = []
  #restBytes = 0

  constructor(offset: number) {
    this.#end = offset
    this.#offset = offset
  }

  /** End of the cuts so far. */
  get offset() {
    return this.#end
  }

  /** Takes pieces and returns the cuts that can be stored now; with `isEnd`, all of them. Known bytes are skipped; the next cut reports a gap. */
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

  /** Sets the stream's final length: missing bytes are lost. Returns nothing, or a cut without bytes. Call it after `take` with `isEnd`. */
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
    // The rest is the beginning of one character. It is copied so that it does not keep the whole buffer alive.
    this.#rest = from < whole.length ? [new Uint8Array(whole.subarray(from))] : []
    this.#restBytes = whole.length - from
  }
}
