/**
 * Conversion of columns.
 *
 * Parameters: one array for `unnest` for each column. Types are explicit, because an inferred array type fails on nulls and on empty arrays.
 * Results: schemas check rows (`SqlSchema`), except those of each request and transition. Types that the driver has no plain value for are here.
 */
import { PgTypes } from "@effect/sql-pg"
import { Result, Schema, SchemaTransformation } from "effect"

const column =
  <A>(elementOid: number) =>
  (values: ReadonlyArray<A | null>): unknown =>
    Result.getOrThrow(PgTypes.array(values, elementOid))

export const textColumn = column<string>(PgTypes.OID.text)
export const int4Column = column<number>(PgTypes.OID.int4)
export const int8Column = column<bigint>(PgTypes.OID.int8)
export const boolColumn = column<boolean>(PgTypes.OID.bool)
/** Each element as JSON text; the statement casts it to jsonb. */
export const jsonColumn = (values: ReadonlyArray<unknown>): unknown =>
  textColumn(values.map((value) => JSON.stringify(value ?? null)))

/** An int8 as a number. The driver reads a bigint; a value that a number cannot hold exactly is refused. */
export const Int8 = Schema.BigInt.pipe(
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform({ decode: Number, encode: BigInt }))
)

/** An int8 from its text, as JSON carries it (JSON numbers are not exact). A numeric also arrives as text; use BigIntFromString for any size. */
export const Int8FromText = Schema.NumberFromString.check(Schema.isInt())
