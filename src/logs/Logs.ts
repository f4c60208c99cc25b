/**
 * The log of a Sandbox: its stored output, read by time.
 *
 * An entry is one stored chunk of one stream, at most 64 KiB. Oldest first; with more than `limit` matches the newest of them. An
 * answer holds at most 16 MiB of text, so that 5,000 full entries do not meet in memory; what does not fit is `truncated` too.
 *
 * @source contract.md SandboxLogs, contract-details.md "SandboxLogs"
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotFound } from "../../schemas/Errors.ts"
import { Actors } from "../store/Actors.ts"
import type { OutputSource, OutputStreamName } from "../store/Output.ts"

const answerBytesMax = 16 * 1024 * 1024
const sources: ReadonlyArray<OutputSource> = ["workload", "execute", "process"]
const streams: ReadonlyArray<OutputStreamName> = ["stdout", "stderr"]

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

interface Row {
  readonly at: bigint
  readonly stream: OutputStreamName
  readonly source: OutputSource
  readonly owner_id: string
  readonly bytes: Uint8Array
  readonly found: bigint
}

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

      return Logs.of({
        read: Effect.fn("Logs.read")(function* (accountId, sandboxId, { since, until, stream, source, limit }) {
          const sandbox = yield* actors.read(sandboxId)
          if (sandbox === null || sandbox.kind !== "sandbox" || sandbox.accountId !== accountId)
            return yield* new NotFound()
          const from = BigInt(since ?? 0)
          const to = BigInt(until ?? Number.MAX_SAFE_INTEGER)
          const pairs = (source === null ? sources : [source]).flatMap((oneSource) =>
            (stream === null ? streams : [stream]).map(
              (oneStream) => sql`
                (select at, seq, stream, source, owner_id, start_offset, octet_length(bytes) as size from output_chunks
                 where sandbox_id = ${sandboxId} and source = ${oneSource} and stream = ${oneStream} and at >= ${from} and at < ${to}
                 order by at desc, seq desc limit ${limit + 1})`
            )
          )
          const all = pairs.slice(1).reduce((joined, pair) => sql`${joined} union all ${pair}`, pairs[0]!)
          const rows = yield* sql<Row>`
            with newest as (
              select *, row_number() over (order by at desc, seq desc) as place, sum(size) over (order by at desc, seq desc) as total,
                     count(*) over () as found
              from (select * from (${all}) as found order by at desc, seq desc limit ${limit + 1}) as found
            )
            select n.at, n.stream, n.source, n.owner_id, c.bytes, n.found
            from newest n join output_chunks c using (owner_id, stream, start_offset)
            where n.place <= ${limit} and (n.total <= ${answerBytesMax} or n.place = 1)
            order by n.at, n.seq`.pipe(Effect.orDie)
          return {
            entries: rows.map((row) => ({
              at: new Date(Number(row.at)).toISOString(),
              stream: row.stream,
              source: row.source,
              operationId: row.source === "process" ? row.owner_id : null,
              text: Buffer.from(row.bytes.buffer, row.bytes.byteOffset, row.bytes.length).toString("utf8")
            })),
            // One more than asked for was looked at; what did not fit is missing too.
            truncated: Number(rows[0]?.found ?? 0) > rows.length
          }
        })
      })
    })
  )
}
