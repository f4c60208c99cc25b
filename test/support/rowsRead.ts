/**
 * How many rows of a table, by scans and by indexes, the database reads for an effect, and how many blocks of it and
 * its indexes: a scan of a whole index that finds nothing reads no row. Work that grows with the stored rows shows at
 * any size.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Gives the table the statistics and visibility of one that has existed for a while. Not inside a transaction. */
export const settle = (table: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`vacuum (analyze) ${table}`))

/** Only what the effect does through the same SqlClient counts. */
export const rowsRead = <A, E, R>(table: string, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const count = sql<{ readonly rows: number; readonly blocks: number }>`
      select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int4 as rows,
             (pg_stat_get_xact_blocks_fetched(relid)
               + (select sum(pg_stat_get_xact_blocks_fetched(indexrelid)) from pg_index where indrelid = relid))::int4 as blocks
      from pg_stat_xact_user_tables where relname = ${table}`
    return yield* sql.withTransaction(
      Effect.gen(function* () {
        const [before] = yield* count
        const result = yield* effect
        const [after] = yield* count
        return { result, rows: after!.rows - before!.rows, blocks: after!.blocks - before!.blocks }
      })
    )
  })
