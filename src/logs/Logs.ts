/**
 * The log of a Sandbox: its stored output, read by time.
 *
 * An entry is one stored chunk of one stream, at most 64 KiB. Oldest first; with more than `limit` matches the newest of them. An
 * answer holds at most 16 MiB of text, so that 5,000 full entries do not meet in memory; what does not fit is `truncated` too.
 *
 * @source contract.md SandboxLogs, contract-details.md "SandboxLogs"
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { NotFound } from "../../schemas/Errors.ts"
import { Actors } from "../store/Actors.ts"
import { Int8 } from "../store/Columns.ts"
import type { OutputSource, OutputStreamName } from "../store/Output.ts"

const answerBytesMax = 16 * 1024 * 1024
const sources = ["workload", "execute", "process"] as const satisfies ReadonlyArray<OutputSource>
const streams = ["stdout", "stderr"] as const satisfies ReadonlyArray<OutputStreamName>

export interface LogQuery {
  /** Epoch milliseconds, inclusive. */
  readonly since: number | null
  /** Epoch milliseconds, exclusive. */
  readonly until: number | null
  readonly stream: OutputStreamName | null
  readonly source: OutputSource | null
  readonly limit: number
}

export interface LogEntry {
  readonly at: string
  readonly stream: OutputStreamName
  readonly source: OutputSource
  readonly operationId: string | null
  readonly text: string
}

/** Of one Sandbox, as LogQuery has it; all of these sources and streams. */
const Wanted = Schema.Struct({
  sandboxId: Schema.String,
  sources: Schema.Array(Schema.Literals(sources)),
  streams: Schema.Array(Schema.Literals(streams)),
  from: Int8,
  to: Int8,
  limit: Schema.Int
})

const Row = Schema.Struct({
  at: Int8,
  stream: Schema.Literals(streams),
  source: Schema.Literals(sources),
  owner_id: Schema.String,
  bytes: Schema.Uint8Array,
  found: Int8
})

export class Logs extends Context.Service<
  Logs,
  {
    readonly read: (
      accountId: string,
      sandboxId: string,
      query: LogQuery
    ) => Effect.Effect<{ readonly entries: ReadonlyArray<LogEntry>; readonly truncated: boolean }, NotFound>
  }
>()("atoll/logs/Logs") {
  static readonly layer = Layer.effect(
    Logs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const actors = yield* Actors

      const findRows = SqlSchema.findAll({
        Request: Wanted,
        Result: Row,
        execute: ({ sandboxId, sources, streams, from, to, limit }) => {
          const pairs = sources.flatMap((source) =>
            streams.map(
              (stream) => sql`
                (select at, seq, stream, source, owner_id, start_offset, octet_length(bytes) as size from output_chunks
                 where sandbox_id = ${sandboxId} and source = ${source} and stream = ${stream} and at >= ${from} and at < ${to}
                 order by at desc, seq desc limit ${limit + 1})`
            )
          )
          const all = pairs.slice(1).reduce((joined, pair) => sql`${joined} union all ${pair}`, pairs[0]!)
          return sql`
            with newest as (
              select *, row_number() over (order by at desc, seq desc) as place, sum(size) over (order by at desc, seq desc) as total,
                     count(*) over () as found
              from (select * from (${all}) as found order by at desc, seq desc limit ${limit + 1}) as found
            )
            select n.at, n.stream, n.source, n.owner_id, c.bytes, n.found
            from newest n join output_chunks c using (owner_id, stream, start_offset)
            where n.place <= ${limit} and (n.total <= ${answerBytesMax} or n.place = 1)
            order by n.at, n.seq`
        }
      })

      return Logs.of({
        read: Effect.fn("Logs.read")(function* (accountId, sandboxId, { since, until, stream, source, limit }) {
          const sandbox = yield* actors.read(sandboxId)
          if (sandbox === null || sandbox.kind !== "sandbox" || sandbox.accountId !== accountId)
            return yield* new NotFound()
          const rows = yield* Effect.orDie(
            findRows({
              sandboxId,
              sources: source === null ? sources : [source],
              streams: stream === null ? streams : [stream],
              from: since ?? 0,
              to: until ?? Number.MAX_SAFE_INTEGER,
              limit
            })
          )
          return {
            entries: rows.map((row) => ({
              at: new Date(row.at).toISOString(),
              stream: row.stream,
              source: row.source,
              operationId: row.source === "process" ? row.owner_id : null,
              text: Buffer.from(row.bytes.buffer, row.bytes.byteOffset, row.bytes.length).toString("utf8")
            })),
            // One more than asked for was looked at; what did not fit is missing too.
            truncated: (rows[0]?.found ?? 0) > rows.length
          }
        })
      })
    })
  )
}
