/**
 * The text fields of a JSON Schema, and values that it allows, so that each text field of a request can be tried with
 * malicious text, even a field that is added later.
 */
import type { Json } from "../../../support/described/Schemas.ts"

/** The name of each in a failure. One of them exceeds every field's bound. */
export const hostileTexts: Readonly<Record<string, string>> = {
  NUL: "a\0b",
  "a high surrogate alone": "a\ud800b",
  "a low surrogate alone": "\udc00",
  "U+202E": "a\u202eb",
  "U+2028": "a\u2028b",
  "1 MB": "x".repeat(2 ** 20)
}

/** Keys of objects and indexes of arrays on the path to one text; `isKey`: the text is a new key there. */
export interface TextField {
  readonly path: ReadonlyArray<string | number>
  readonly isKey: boolean
}

/** The target of a reference in the document. */
export type Meant = (reference: string) => Json

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** The schemas that a value may match, references followed. */
const choices = (schema: Json, meant: Meant): ReadonlyArray<Json> => {
  const { $ref, allOf, anyOf, oneOf } = schema
  if (typeof $ref === "string") return choices(meant($ref), meant)
  const nested = [allOf, anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as ReadonlyArray<Json>) : []))
  return nested.length === 0 ? [schema] : [schema, ...nested.flatMap((one) => choices(one, meant))]
}

export const textFields = (schema: Json, meant: Meant, path: TextField["path"] = []): ReadonlyArray<TextField> => {
  const found: Array<TextField> = []
  for (const { type, properties, items, additionalProperties } of choices(schema, meant)) {
    if (type === "string") found.push({ path, isKey: false })
    if (isJson(items)) found.push(...textFields(items, meant, [...path, 0]))
    if (isJson(properties)) {
      for (const [name, property] of Object.entries(properties))
        found.push(...textFields(property as Json, meant, [...path, name]))
    }
    if (isJson(additionalProperties)) {
      found.push({ path, isKey: true }, ...textFields(additionalProperties, meant, [...path, "key"]))
    }
  }
  // For choices that are all text.
  return [...new Map(found.map((field) => [JSON.stringify(field), field])).values()]
}

/** `base` with a text at a place, which is made where it is missing. */
export const withText = (base: unknown, { path, isKey }: TextField, text: string): unknown => {
  const [first, ...rest] = path
  if (first === undefined) return isKey ? { ...(isJson(base) ? base : {}), [text]: "value" } : text
  const below = { path: rest, isKey }
  if (typeof first === "number") {
    const items = Array.isArray(base) && base.length > 0 ? base : [null]
    return items.map((item, index) => (index === items.length - 1 ? withText(item, below, text) : item))
  }
  const record = isJson(base) ? base : {}
  return { ...record, [first]: withText(record[first], below, text) }
}
