/** Copies the database's rows from one snapshot into an empty database with the same schema, between any two versions of Postgres. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"

/** Tables that the migrations fill, or that are about live processes. */
const leftOut = ["atoll_migrations", "cluster_processes", "cluster_shards", "held_places"]

const batchBytes = { least: 1024 ** 2, most: 4 * 1024 ** 2 }
const batchRows = { first: 50, most: 5_000 }

export interface Table {
  readonly name: string
  /** All columns except generated ones. */
  readonly columns: ReadonlyArray<string>
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
const list = (columns: ReadonlyArray<string>): string => columns.map(quote).join(", ")

/** Lists the tables so that a referenced table precedes those that refer to it. */
export const tablesOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const findColumns = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) }),
    execute: () => sql`
      select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
      group by c.relname order by c.relname`
  })
  const findReferences = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ from: Schema.String, to: Schema.String }),
    execute: () => sql`
      select f.relname::text as from, t.relname::text as to
      from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
      where k.contype = 'f' and k.connamespace = current_schema()::regnamespace`
  })
  const references = yield* findReferences()
  const waiting = (yield* findColumns()).filter(({ name }) => !leftOut.includes(name))
  const ordered: Array<Table> = []
  while (waiting.length > 0) {
    const waits = (table: Table) =>
      references.some(({ from, to }) => from === table.name && to !== from && waiting.some(({ name }) => name === to))
    const next = waiting.findIndex((table) => !waits(table))
    ordered.push(...waiting.splice(Math.max(0, next), 1))
  }
  return ordered
})

/** Reads a table's rows in batches, as text. Needs a transaction. */
export const readRows = Effect.fnUntraced(function* <E>(
  sql: SqlClient.SqlClient,
  { name, columns }: Table,
  take: (rows: ReadonlyArray<string>) => Effect.Effect<unknown, E>
) {
  yield* sql.unsafe(`declare rows_of no scroll cursor for select row(${list(columns)})::text as r from ${quote(name)}`)
  let count: number = batchRows.first
  while (true) {
    const found = yield* sql.unsafe<{ readonly r: string }>(`fetch ${count} from rows_of`)
    if (found.length === 0) break
    const rows = found.map(({ r }) => r)
    yield* take(rows)
    const bytes = rows.reduce((sum, row) => sum + row.length, 0)
    if (bytes < batchBytes.least) count = Math.min(batchRows.most, count * 2)
    else if (bytes > batchBytes.most) count = Math.max(1, count >> 1)
  }
  yield* sql.unsafe("close rows_of")
})

/** Prepares to insert rows into an empty table. Needs a transaction. */
export const openTable = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { name, columns }: Table) {
  // Uses the archive's column order, which may differ from the table's.
  yield* sql.unsafe("drop table if exists pg_temp.archived_row")
  yield* sql.unsafe(`create temporary table archived_row as select ${list(columns)} from ${quote(name)} with no data`)
  return (rows: unknown) =>
    sql.unsafe(
      `insert into ${quote(name)} (${list(columns)}) overriding system value
       select * from unnest($1::text[]::pg_temp.archived_row[])`,
      [rows]
    )
})

/** Removes the rows that the migrations inserted. */
export const emptyTables = (sql: SqlClient.SqlClient, tables: ReadonlyArray<Table>) =>
  sql.unsafe(`truncate ${tables.map(({ name }) => quote(name)).join(", ")}`)

/** Moves sequences past the loaded rows. */
export const moveSequences = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ name: Schema.String, column: Schema.String }),
    execute: () => sql`
      select c.relname::text as name, a.attname::text as column
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attidentity <> '' and not a.attisdropped
      where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`
  })
  for (const { name, column } of yield* find()) {
    yield* sql.unsafe(
      `select setval(pg_get_serial_sequence($1, $2), max(${quote(column)})) from ${quote(name)} having max(${quote(column)}) is not null`,
      [quote(name), column]
    )
  }
})
