/**
 * JSON Schemas for models: inlined, without references and without details that only programs need. They are as strict as
 * the schemas behind them, except that null is accepted for an absent field although they do not say so.
 *
 * @source JSON Schema 2020-12
 */
import { Schema } from "effect"

export type JsonSchema = { readonly type: "object"; readonly [keyword: string]: unknown }

type Node = Record<string, unknown>

const isNode = (node: unknown): node is Node => typeof node === "object" && node !== null && !Array.isArray(node)

const isNull = (node: unknown): boolean => isNode(node) && node["type"] === "null"

const referred = /^#\/\$defs\/(\w+)$/

/** Replaces references; no tool's schema is recursive. */
const inlined = (node: unknown, definitions: Readonly<Record<string, unknown>>): unknown => {
  if (Array.isArray(node)) return node.map((item) => inlined(item, definitions))
  if (!isNode(node)) return node
  const { $ref, ...beside } = node
  const name = referred.exec(String($ref))?.[1]
  if (name !== undefined) return { ...(inlined(definitions[name], definitions) as Node), ...beside }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inlined(value, definitions)]))
}

/** Bounds that Effect adds to every integer. */
const isSafeBound = (key: string, value: unknown): boolean =>
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) || (key === "maximum" && value === Number.MAX_SAFE_INTEGER)

const isOpen = (key: string, value: unknown): boolean => key === "additionalProperties" && value === true

const told = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(told)
  if (!isNode(node)) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => !isSafeBound(key, value) && !isOpen(key, value))
      .map(([key, value]) => [key, told(value)])
  )
}

/** For arguments: objects are closed, and optional fields have no null. */
const asked = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(asked)
  if (!isNode(node)) return node
  const { anyOf, ...rest } = node
  const choices = Array.isArray(anyOf) ? anyOf.filter((choice) => !isNull(choice)) : []
  const only = choices.length === 1 ? (choices[0] as Node) : null
  const plain = only === null ? node : { ...only, ...rest }
  return Object.fromEntries([
    ...Object.entries(plain).map(([key, value]) => [key, asked(value)]),
    ...(isNode(plain["properties"]) ? [["additionalProperties", false]] : [])
  ])
}

const checks: ReadonlySet<string> = new Set(["pattern", "format", "examples", "minLength", "maxLength"])

/** For results: removes bounds, because no model has to meet them. */
const answered = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(answered)
  if (!isNode(node)) return node
  return Object.fromEntries(
    Object.entries(node)
      .filter(([key, value]) => !checks.has(key) || isNode(value))
      .map(([key, value]) => [key, answered(value)])
  )
}

const documentOf = (schema: Schema.Top): unknown => {
  const { schema: root, definitions } = Schema.toJsonSchemaDocument(schema)
  return told(inlined(root, definitions))
}

export const inputSchemaOf = (schema: Schema.Top): JsonSchema => asked(documentOf(schema)) as JsonSchema

export const outputSchemaOf = (schema: Schema.Top): JsonSchema => answered(documentOf(schema)) as JsonSchema
