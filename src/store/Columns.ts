/**
 * Columns on their way in and out.
 *
 * In: array parameters for `unnest`, one a column. Types are said outright: an inferred array type fails on nulls and on empty arrays.
 * Out: rows are held to schemas (`SqlSchema`), but for those of each request and transition. What the driver has no plain type for is here.
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
/** Each element as JSON text, to be cast to jsonb. */
export const jsonColumn = (values: ReadonlyArray<unknown>): unknown =>
  textColumn(values.map((value) => JSON.stringify(value ?? null)))

/** An int8, which the driver reads as a bigint, as a number; one that a number does not hold exactly is refused. */
export const Int8 = Schema.BigInt.pipe(
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform({ decode: Number, encode: BigInt }))
)

/** The same of its text: as it is in JSON, whose own numbers are not exact. A numeric comes as text too, and of any size is a BigIntFromString. */
export const Int8FromText = Schema.NumberFromString.check(Schema.isInt())
