/** Output as it is stored: chunks of streams by absolute offset. */
import { Data } from "effect"

export type OutputSource = "workload" | "execute" | "process"
export type OutputStreamName = "stdout" | "stderr"

export interface OutputChunk {
  /** An operation, a synchronous execute, or the console of one generation. */
  readonly ownerId: string
  readonly stream: OutputStreamName
  readonly sandboxId: string
  readonly source: OutputSource
  /** Where the writer believes that the stream ends so far: `offset`, or less where the producer said that the bytes between are gone. */
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

export interface StoredOffsets {
  readonly stdout: number
  readonly stderr: number
}

/**
 * That stream does not end where its writer believes it to end: somebody else stored bytes of it meanwhile, or the database crashed and forgot
 * its last ones. Read its offset and go on from there. Streams of the same call may be stored.
 */
export class Overtaken extends Data.TaggedError("Overtaken")<{ readonly ownerId: string }> {}
