/** Request fields that may be left out. Absent and null mean the same. */
import { Option, Schema, SchemaGetter } from "effect"

type Plain<A> = Schema.Codec<A, A>

/** Absent or null becomes `value`. The description says so: a `default` in the published schema makes generators demand the field. */
export const withDefault = <A>(schema: Plain<A>, value: A, description: string) =>
  Schema.optionalKey(
    Schema.NullOr(schema).annotate({ description: `${description} By default \`${JSON.stringify(value)}\`.` })
  ).pipe(
    Schema.decodeTo(Schema.toType(schema), {
      decode: SchemaGetter.transformOptional((given: Option.Option<A | null>) =>
        Option.some(Option.getOrElse(given, () => null) ?? value)
      ),
      encode: SchemaGetter.transformOptional((given: Option.Option<A>): Option.Option<A | null> => given)
    })
  )

/** Absent becomes null. */
export const orNull = <A>(schema: Plain<A>, description: string) =>
  Schema.optionalKey(Schema.NullOr(schema).annotate({ description })).pipe(
    Schema.decodeTo(Schema.NullOr(Schema.toType(schema)), {
      decode: SchemaGetter.transformOptional((given: Option.Option<A | null>) => Option.some(Option.getOrNull(given))),
      encode: SchemaGetter.transformOptional((given: Option.Option<A | null>) => given)
    })
  )
