/**
 * Query parameters. One that is given twice, or empty where a number is required, is refused, as are unknown ones
 * (src/api/http/KnownQuery.ts); only a parameter of several values may be repeated.
 */
import { Effect, Schema, SchemaGetter } from "effect"
import { cursorMaxCharacters, pageDefault, pageMax } from "./Limits.ts"
import { isCharactersBetween, isMatching, isPlainText } from "./Text.ts"

interface Bounds {
  readonly minimum: number
  readonly maximum: number
}

/** Decimal digits only: no sign, no exponent, no blanks. */
export const integer = (
  bounds: Bounds,
  annotations: { readonly description?: string; readonly default?: number } = {}
) =>
  Schema.String.check(isMatching(/^\d{1,16}$/, { expected: "decimal digits" })).pipe(
    Schema.decodeTo(Schema.Int.check(Schema.isBetween(bounds)).annotate(annotations), {
      decode: SchemaGetter.transform((digits: string) => Number(digits)),
      encode: SchemaGetter.transform((value: number) => String(value))
    })
  )

export const integerWithDefault = (bounds: Bounds, fallback: number, description: string) =>
  integer(bounds, { default: fallback, description }).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(String(fallback)))
  )

export const boolean = (fallback: boolean, description: string) =>
  Schema.Literals(["true", "false"]).pipe(
    Schema.decodeTo(Schema.Boolean.annotate({ default: fallback, description }), {
      decode: SchemaGetter.transform((text: "true" | "false") => text === "true"),
      encode: SchemaGetter.transform((value: boolean): "true" | "false" => (value ? "true" : "false"))
    }),
    Schema.withDecodingDefaultKey(Effect.succeed(fallback ? ("true" as const) : ("false" as const)))
  )

/** One value or several: the parameter repeated, or commas between them. */
export const several = <A extends string>(one: Schema.Codec<A, A>, description: string) =>
  Schema.Union([Schema.String, Schema.Array(Schema.String)]).pipe(
    Schema.decodeTo(Schema.Array(one).annotate({ description }), {
      decode: SchemaGetter.transform((given: string | ReadonlyArray<string>) =>
        (typeof given === "string" ? [given] : given).flatMap((text) => text.split(",") as Array<A>)
      ),
      encode: SchemaGetter.transform((values: ReadonlyArray<A>): string | ReadonlyArray<string> => values.join(","))
    })
  )

/** The same, but a comma is a part of its value. */
export const repeated = <A extends string>(one: Schema.Codec<A, A>, description: string) =>
  Schema.Union([Schema.String, Schema.Array(Schema.String)]).pipe(
    Schema.decodeTo(Schema.Array(one).annotate({ description }), {
      decode: SchemaGetter.transform(
        (given: string | ReadonlyArray<string>) => (typeof given === "string" ? [given] : given) as ReadonlyArray<A>
      ),
      encode: SchemaGetter.transform((values: ReadonlyArray<A>): string | ReadonlyArray<string> => values)
    })
  )

const instantPattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

const instantText = Schema.String.check(
  Schema.makeFilter<string>((text) => parseInstant(text) !== null, {
    expected: "a date-time with a zone, such as 2026-01-31T12:00:00Z",
    toJsonSchema: () => ({ pattern: instantPattern.source })
  })
)

/**
 * Epoch milliseconds, or null for a malformed instant (30 February, no zone, …). A leap second counts as the next
 * second.
 */
export const instant = (description: string) =>
  instantText.annotate({ description }).pipe(
    Schema.decodeTo(Schema.Finite, {
      decode: SchemaGetter.transform((text: string) => parseInstant(text) ?? 0),
      encode: SchemaGetter.transform((ms: number) => new Date(ms).toISOString())
    })
  )

/** The same for a field that may be null. */
export const instantOrNull = (description: string) =>
  Schema.NullOr(instantText)
    .annotate({ description })
    .pipe(
      Schema.decodeTo(Schema.NullOr(Schema.Finite), {
        decode: SchemaGetter.transform((text: string | null) => (text === null ? null : (parseInstant(text) ?? 0))),
        encode: SchemaGetter.transform((ms: number | null) => (ms === null ? null : new Date(ms).toISOString()))
      })
    )

/** Opaque: pass the earlier `nextCursor`. */
export const parseInstant = (text: string): number | null => {
  const found = instantPattern.exec(text)
  if (found === null) return null
  const [, year, month, day, hour, minute, second = "0", fraction = "0", zone = "Z"] = found
  const [y, mo, d, h, mi, s] = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number
  ]
  if (mo < 1 || mo > 12 || d < 1 || h > 23 || mi > 59 || s > 60) return null
  const date = new Date(0)
  date.setUTCFullYear(y, mo - 1, d)
  if (date.getUTCDate() !== d) return null
  date.setUTCHours(h, mi, s, Number(fraction.slice(0, 3).padEnd(3, "0")))
  return date.getTime() - zoneMs(zone)
}

const zoneMs = (zone: string): number => {
  if (zone === "Z" || zone === "z") return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000
}

/** Opaque: pass back what `nextCursor` was. */
export const Cursor = Schema.String.check(isCharactersBetween(1, cursorMaxCharacters), isPlainText).annotate({
  description: "The nextCursor of the page before, unchanged."
})

/** `limit` and `cursor` of the lists of the API itself. */
export const page = {
  limit: integerWithDefault({ minimum: 1, maximum: pageMax }, pageDefault, "Most entries of one page."),
  cursor: Schema.optionalKey(Cursor)
}

/** Every paged answer carries it; null at the end. */
export const NextCursor = Schema.NullOr(Schema.String).annotate({
  description: "Pass it as cursor to get the next page; null at the end."
})
