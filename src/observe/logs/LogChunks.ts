/** Selects stored chunks of output for a Sandbox's log, and converts them to entries. */
import { createHash } from "node:crypto"
import { Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { Int8 } from "../../store/Columns.ts"
import type { OutputSource, OutputStreamName } from "../../store/OutputChunk.ts"

const allSources = ["workload", "execute", "process"] as const satisfies ReadonlyArray<OutputSource>
const allStreams = ["stdout", "stderr"] as const satisfies ReadonlyArray<OutputStreamName>

/** Null means any. */
export interface LogFilter {
  readonly stream: OutputStreamName | null
  readonly source: OutputSource | null
  readonly operationId: string | null
}

export interface LogEntry {
  readonly id: string
  readonly at: string
  readonly stream: OutputStreamName
  readonly source: OutputSource
  readonly operationId: string | null
  readonly text: string
}

export const ChunkRow = Schema.Struct({
  at: Int8,
  seq: Int8,
  stream: Schema.Literals(allStreams),
  source: Schema.Literals(allSources),
  owner_id: Schema.String,
  start_offset: Int8,
  bytes: Schema.Uint8Array
})
export type ChunkRow = typeof ChunkRow.Type

/** A query for one Sandbox. */
export const Wanted = Schema.Struct({
  sandboxId: Schema.String,
  sources: Schema.Array(Schema.Literals(allSources)),
  streams: Schema.Array(Schema.Literals(allStreams)),
  operationId: Schema.NullOr(Schema.String),
  /** Epoch milliseconds, inclusive. */
  from: Int8,
  limit: Schema.Int
})

export const wantedOf = ({ stream, source, operationId }: LogFilter) => ({
  // Only operations have such ids.
  sources: source !== null ? [source] : operationId === null ? allSources : (["process"] as const),
  streams: stream === null ? allStreams : [stream],
  operationId
})

/** All matching chunks without their bytes. Each source and stream is a range of one index, read in its order. */
export const chunksThatMatch = (
  sql: SqlClient.SqlClient,
  { sandboxId, sources, streams, operationId, from }: typeof Wanted.Encoded,
  { where, order }: { readonly where: Statement.Fragment; readonly order: Statement.Fragment }
): Statement.Fragment => {
  const owner = operationId === null ? sql`true` : sql`owner_id = ${operationId}`
  const pieces = sources.flatMap((source) =>
    streams.map(
      (stream) => sql`
        (select at, seq, stream, source, owner_id, start_offset, octet_length(bytes) as size from output_chunks
         where sandbox_id = ${sandboxId} and source = ${source} and stream = ${stream} and at >= ${from} and ${where} and ${owner}
         ${order})`
    )
  )
  return pieces.slice(1).reduce((joined, piece) => sql`${joined} union all ${piece}`, pieces[0]!)
}

const idOf = ({ owner_id, stream, start_offset }: ChunkRow): string =>
  createHash("sha256").update(`${owner_id} ${stream} ${start_offset}`).digest("base64url").slice(0, 22)

export const entryOf = (row: ChunkRow): LogEntry => ({
  id: idOf(row),
  at: new Date(row.at).toISOString(),
  stream: row.stream,
  source: row.source,
  operationId: row.source === "process" ? row.owner_id : null,
  text: Buffer.from(row.bytes.buffer, row.bytes.byteOffset, row.bytes.length).toString("utf8")
})
