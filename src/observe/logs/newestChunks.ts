/** The newest matching chunks of a Sandbox's log, oldest first. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Int8 } from "../../store/Columns.ts"
import { ChunkRow, chunksThatMatch, type LogFilter, Wanted, wantedOf } from "./LogChunks.ts"

export interface LogQuery extends LogFilter {
  /** Epoch milliseconds, inclusive. */
  readonly since: number | null
  /** Epoch milliseconds, exclusive. */
  readonly until: number | null
  readonly limit: number
}

/** Returns chunks of at most `bytesMax` bytes, and whether there are older matches. */
export const newestChunks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const findRows = SqlSchema.findAll({
    Request: Schema.Struct({ ...Wanted.fields, to: Int8, bytesMax: Schema.Int }),
    Result: Schema.Struct({ ...ChunkRow.fields, found: Int8 }),
    execute: ({ to, bytesMax, ...wanted }) => {
      const newestFirst = sql`order by at desc, seq desc limit ${wanted.limit + 1}`
      const all = chunksThatMatch(sql, wanted, { where: sql`at < ${to}`, order: newestFirst })
      return sql`
        with newest as (
          select *, row_number() over (order by at desc, seq desc) as place, sum(size) over (order by at desc, seq desc) as total,
                 count(*) over () as found
          from (select * from (${all}) as found ${newestFirst}) as found
        )
        select n.at, n.seq, n.stream, n.source, n.owner_id, n.start_offset, c.bytes, n.found
        from newest n join output_chunks c using (owner_id, stream, start_offset)
        where n.place <= ${wanted.limit} and (n.total <= ${bytesMax} or n.place = 1)
        order by n.at, n.seq`
    }
  })
  return (sandboxId: string, query: LogQuery, bytesMax: number) =>
    findRows({
      ...wantedOf(query),
      sandboxId,
      from: query.since ?? 0,
      to: query.until ?? Number.MAX_SAFE_INTEGER,
      limit: query.limit,
      bytesMax
    }).pipe(
      Effect.orDie,
      // One chunk more than requested is read; chunks that did not fit are missing too.
      Effect.map((rows) => ({ rows, truncated: (rows[0]?.found ?? 0) > rows.length }))
    )
})
