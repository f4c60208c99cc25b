/** Where the streams of output end. */
import type { OutputStreamName, StoredOffsets } from "./OutputChunk.ts"

export interface EndRow {
  readonly owner_id: string
  /** Null: nothing is stored of it. */
  readonly stream: OutputStreamName | null
  readonly next_offset: bigint | null
}

export const endsOf = (
  ownerIds: ReadonlyArray<string>,
  rows: ReadonlyArray<EndRow>
): ReadonlyMap<string, StoredOffsets> => {
  const found = new Map(ownerIds.map((ownerId) => [ownerId, { stdout: 0, stderr: 0 }]))
  for (const { owner_id, stream, next_offset } of rows) {
    if (stream !== null) found.get(owner_id)![stream] = Number(next_offset)
  }
  return found
}
