/**
 * The description's JSON Schemas, closed: every field of an answer must be described, though clients have to be open
 * for more.
 */
import { dereference, type Schema, validate } from "@cfworker/json-schema"

export type Json = Readonly<Record<string, unknown>>

const mapped = (object: object, change: (value: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]))

/**
 * Only schemas that say so are open, or that say in an allOf that they have more. Examples are removed: an `id` in them
 * would be taken for a schema's.
 */
const closed = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(closed)
  if (typeof node !== "object" || node === null) return node
  const { example: _, examples: __, properties, ...rest } = node as Json
  if (properties === undefined) return mapped(rest, closed)
  return {
    ...("allOf" in rest ? {} : { additionalProperties: false }),
    ...mapped(rest, closed),
    properties: mapped(properties as object, closed)
  }
}

const prefix = "#/components/schemas/"
const faultsShown = 3

export class Schemas {
  readonly #named: Readonly<Record<string, Schema>>
  readonly #lookup: Record<string, Schema | boolean>
  /** The schemas of a parameter, a header or a media type, once they were used. */
  readonly #inline = new Map<Json, Schema>()

  /** @param named `components.schemas` */
  constructor(named: Json) {
    this.#named = mapped(named, closed) as Readonly<Record<string, Schema>>
    this.#lookup = dereference({ components: { schemas: this.#named } })
  }

  /** The schema itself, behind any references to named ones. */
  meant(schema: Json): Json {
    const name = schema["$ref"]
    return typeof name === "string" ? this.meant(this.#named[name.slice(prefix.length)]!) : schema
  }

  /** The fault of `value`, with its place; null when there is none. */
  fault(schema: Json, value: unknown): string | null {
    const { valid, errors } = validate(value, this.#ready(schema), "2020-12", this.#lookup)
    if (valid) return null
    // A value that holds a wrong value has no fault itself.
    const found = errors.filter(({ error }) => !/subschema|does not match schema/.test(error))
    return found
      .slice(-faultsShown)
      .map(({ instanceLocation, error }) => `${instanceLocation} ${error}`)
      .join(" ")
  }

  /** The same of JSON text. */
  faultOfJson(schema: Json, text: string): string | null {
    try {
      return this.fault(schema, JSON.parse(text))
    } catch (error) {
      return String(error)
    }
  }

  #ready(schema: Json): Schema {
    const name = schema["$ref"]
    if (typeof name === "string") return this.#named[name.slice(prefix.length)]!
    const known = this.#inline.get(schema)
    if (known !== undefined) return known
    const made = closed(schema) as Schema
    dereference(made, this.#lookup, undefined, `/inline/${this.#inline.size}`)
    this.#inline.set(schema, made)
    return made
  }
}
