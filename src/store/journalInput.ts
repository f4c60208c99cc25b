/**
 * The rows that a statement of the journal writes: of a batch, one array for each column, over `unnest`; of a single record, plain values.
 *
 * Most batches of a quiet service have one record. Over `unnest` that record costs the server a function scan, two joins and 16 arrays beside its own
 * work. Plain values stand in the statement where they are used, and the rest of the statement is the same.
 */
import { PgTypes } from "@effect/sql-pg"
import { int4Column, int8Column, textColumn } from "./Columns.ts"

const encodings = {
  text: { one: PgTypes.text, many: textColumn },
  int8: { one: PgTypes.int8, many: int8Column },
  int4: { one: PgTypes.int4, many: int4Column }
}

export type ColumnType = keyof typeof encodings
export type Value = string | number | bigint | null

export const typesOf = (types: string) => types.split(" ") as ReadonlyArray<ColumnType>

/** The parameters of `inputOf`. Each has its type, so that a null changes no statement. */
export const parametersOf = (
  types: ReadonlyArray<ColumnType>,
  rows: ReadonlyArray<ReadonlyArray<Value>>
): ReadonlyArray<unknown> =>
  types.map((type, at) => {
    const { one, many } = encodings[type]
    return rows.length === 1 ? one(rows[0]![at] as never) : many(rows.map((row) => row[at] as never))
  })

/** The common table expression of the rows. `lone`: of one row. */
export const inputOf = (lone: boolean, types: ReadonlyArray<ColumnType>, names: ReadonlyArray<string>): string => {
  if (!lone) {
    const arrays = types.map((type, at) => `$${at + 1}::${type}[]`)
    return `input as (select * from unnest(${arrays.join(", ")}) as i (${names.join(", ")}))`
  }
  const values = names.map((name, at) => `$${at + 1}::${types[at]} as ${name}`)
  return `input as not materialized (select ${values.join(", ")})`
}
