/**
 * The encoding of values, in the terms of JSON Schema 2020-12 and of the generators that read it: integers with their
 * width, and bytes by their encoding and media type, not by the formats of older OpenAPI.
 */
type Json = Record<string, unknown>

const int32Max = 2_147_483_647

/** A number without a bound below 2^31 is int64: sizes, offsets, milliseconds, money. */
const integerFormat = ({ maximum }: Json): string =>
  typeof maximum === "number" && maximum <= int32Max ? "int32" : "int64"

/** A single check beside the type is merged into the type: generators do not look into an allOf for it. */
const flat = (schema: Json): Json => {
  const { allOf, ...rest } = schema
  const only = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as Json) : null
  return only === null || "$ref" in only || Object.keys(only).some((key) => key in rest) ? schema : { ...rest, ...only }
}

const carriedHere = (given: Json): Json => {
  const schema = flat(given)
  if (schema["type"] === "integer") return { ...schema, format: integerFormat(schema) }
  if (schema["type"] !== "string") return schema
  if (schema["format"] === "byte") {
    const { format: _, ...rest } = schema
    return { ...rest, contentEncoding: "base64" }
  }
  return schema["format"] === "binary" ? { ...schema, contentMediaType: "application/octet-stream" } : schema
}

/** Of a whole description; examples and descriptions hold no schemas that could be mistaken for one. */
export const carried = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(carried)
  if (typeof node !== "object" || node === null) return node
  return carriedHere(Object.fromEntries(Object.entries(node).map(([key, value]) => [key, carried(value)])))
}
