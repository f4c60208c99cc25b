/**
 * The types of the machines' contexts, which are schemas (`schemas/contexts/`), in the form in which the machines' own
 * files are read.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Schema, type SchemaAST } from "effect"
import type { TSType } from "oxc-parser"
import { Reason } from "../../../schemas/Sandbox.ts"

const folder = join(import.meta.dirname, "../../../schemas/contexts")
const place = { start: 0, end: 0 }

const union = (types: Array<TSType>): TSType => ({ type: "TSUnionType", types, ...place })

const literal = (value: unknown): TSType =>
  ({ type: "TSLiteralType", literal: { type: "Literal", value, ...place }, ...place }) as TSType

const record = {
  type: "TSTypeReference",
  typeName: { type: "Identifier", name: "Record", ...place },
  ...place
} as TSType

export type NamedType = TSType | ReadonlyMap<string, TSType>

/** @throws For a kind of schema that no context has had so far. */
const typeOf = (ast: SchemaAST.AST): TSType => {
  switch (ast._tag) {
    case "String":
      return { type: "TSStringKeyword", ...place }
    case "Number":
      return { type: "TSNumberKeyword", ...place }
    case "Boolean":
      return { type: "TSBooleanKeyword", ...place }
    case "Null":
      return { type: "TSNullKeyword", ...place }
    case "Literal":
      return literal(ast.literal)
    case "Union":
      return union(ast.types.map(typeOf))
    case "Arrays":
      return { type: "TSArrayType", elementType: typeOf(ast.rest[0]!), ...place }
    case "Objects":
      if (ast.indexSignatures.length > 0) return record
      return {
        type: "TSTypeLiteral",
        members: [...fieldsOf(ast)].map(([name, type]) => ({
          type: "TSPropertySignature",
          key: { type: "Identifier", name, ...place },
          typeAnnotation: { type: "TSTypeAnnotation", typeAnnotation: type, ...place },
          optional: false,
          ...place
        })),
        ...place
      } as unknown as TSType
    default:
      throw new Error(`A context has a schema ${ast._tag}; teach test/support/machines/schemaTypes.ts this one.`)
  }
}

/** A record has none. */
const fieldsOf = (ast: SchemaAST.AST): ReadonlyMap<string, TSType> =>
  new Map(
    ast._tag === "Objects" ? ast.propertySignatures.map(({ name, type }) => [String(name), typeOf(type)] as const) : []
  )

const modules: ReadonlyArray<Record<string, unknown>> = await Promise.all(
  readdirSync(folder).map((file) => import(join(folder, file)))
)

/** By the name under which each is exported. */
export const schemaTypes: ReadonlyMap<string, NamedType> = new Map(
  // A public reason has the shape of a reason.
  [{ Reason, PublicReason: Reason }, ...modules].flatMap((module) =>
    Object.entries(module).flatMap(([name, schema]) =>
      Schema.isSchema(schema) ? [[name, fieldsOf(schema.ast)] as const] : []
    )
  )
)
