/** Array parameters for `unnest`, one a column. Types are said outright: an inferred array type fails on nulls and on empty arrays. */
import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const column =
  <A>(elementOid: number) =>
  (values: ReadonlyArray<A | null>): unknown =>
    Result.getOrThrow(PgTypes.array(values, elementOid))

export const textColumn = column<string>(PgTypes.OID.text)
export const int4Column = column<number>(PgTypes.OID.int4)
export const int8Column = column<bigint>(PgTypes.OID.int8)
export const boolColumn = column<boolean>(PgTypes.OID.bool)
/** Each element as JSON text, to be cast to jsonb. */
export const jsonColumn = (values: ReadonlyArray<unknown>): unknown =>
  textColumn(values.map((value) => JSON.stringify(value ?? null)))
