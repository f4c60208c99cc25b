/**
 * Reads of a dialled connection in the memory into which they were read, for a consumer that passes them on at once: half the cost of bulk is the
 * memory for each read.
 */
import type { Duplex } from "node:stream"

/** Gets a piece in memory that is used again: true if it is done with it, false if a part has still to be sent from there. */
export type InPlace = (piece: Buffer) => boolean

export interface ReadsInPlace extends Duplex {
  /**
   * From now on, `take` gets the bytes in place of the events `data`; `pause` and `resume` hold the other side back and let it go on. Only for a stream
   * that is not read yet.
   */
  readonly readInPlace: (take: InPlace) => void
}

/** Calls `take` with all bytes of the stream, in place if it can do that. */
export const readEach = (stream: Duplex, take: InPlace): void => {
  if ("readInPlace" in stream) (stream as ReadsInPlace).readInPlace(take)
  else stream.on("data", take)
}
