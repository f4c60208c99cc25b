/** A page of an operation's output, as its client gets it. */
import { Effect } from "effect"
import { isSettled } from "../../machines/operation.ts"
import type { OperationOutputChunk } from "../../schemas/Operation.ts"
import type { Output } from "../store/Output.ts"
import type { OutputStreamName } from "../store/OutputChunk.ts"
import type { OperationRecord } from "./OperationView.ts"

/** `OperationOutputChunk` with the bytes themselves. */
export interface OutputRange extends Omit<OperationOutputChunk, "data" | "encoding"> {
  readonly bytes: Uint8Array
}

export interface OutputQuery {
  readonly stream: OutputStreamName
  readonly offset: number
  readonly limit: number
}

/** @param record Read before: if it was terminal then, no output follows. */
export const operationOutput = Effect.fnUntraced(function* (
  output: Output["Service"],
  { id, status, context }: OperationRecord,
  { stream, offset, limit }: OutputQuery
): Effect.fn.Return<OutputRange> {
  const isOver = isSettled(status, context)
  // Where the stream ends matters only once the operation is over.
  const newest = isOver ? null : output.newest(id, stream, offset, limit)
  const page = newest ?? (yield* output.read(id, stream, offset, limit))
  return {
    stream,
    offset: page.offset,
    nextOffset: page.nextOffset,
    bytes: page.bytes,
    truncated: page.truncated,
    eof: isOver && page.nextOffset >= page.totalBytes
  }
})
