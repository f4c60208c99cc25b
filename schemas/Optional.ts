/** Request fields that may be left out. Absent and null mean the same. */
import { Option, Schema, SchemaGetter } from "effect"

type Plain<A> = Schema.Codec<A, A>

/** Absent or null becomes `value`, which the published schema shows as the default. */
export const withDefault = <A>(schema: Plain<A>, value: A) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ default: value })).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional((given: Option.Option<A | null>) =>
        Option.some(Option.getOrElse(given, () => null) ?? value)
      ),
      encode: SchemaGetter.transformOptional((given: Option.Option<A>): Option.Option<A | null> => given)
    })
  )

/** Absent becomes null. */
export const orNull = <A>(schema: Plain<A>) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(Schema.NullOr(Schema.toType(schema)), {
      decode: SchemaGetter.transformOptional((given: Option.Option<A | null>) => Option.some(Option.getOrNull(given))),
      encode: SchemaGetter.transformOptional((given: Option.Option<A | null>) => given)
    })
  )
