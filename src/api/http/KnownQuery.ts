/** The query parameters of an endpoint, and the errors for all others. */
import type { IncomingMessage } from "node:http"
import { Context, SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { QueryPrefix } from "../../../schemas/Access.ts"
import type { InvalidRequest } from "../../../schemas/Errors.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { queryOf } from "./RequestTarget.ts"
import { unknownName } from "./UnknownName.ts"

const issuesMax = 20
const shownMaxCharacters = 128

export interface KnownQuery {
  readonly names: ReadonlyArray<string>
  /** Parameters that may be repeated. */
  readonly repeatable: ReadonlyArray<string>
  /** A prefix for any name, as in `metadata.KEY`; null: none. */
  readonly prefix: string | null
}

const takesSeveral = (ast: SchemaAST.AST): boolean => SchemaAST.isUnion(ast) && ast.types.some(SchemaAST.isArrays)

export const knownQuery = (endpoint: HttpApiEndpoint.Top): KnownQuery => {
  const ast = endpoint.query === undefined ? undefined : SchemaAST.toEncoded(endpoint.query.ast)
  const properties = ast !== undefined && SchemaAST.isObjects(ast) ? ast.propertySignatures : []
  return {
    names: properties.map(({ name }) => String(name)),
    repeatable: properties.filter(({ type }) => takesSeveral(type)).map(({ name }) => String(name)),
    prefix: Context.get(endpoint.annotations, QueryPrefix)
  }
}

/** Null if every parameter is known, and not repeated unless repeatable. */
export const refuseQuery = (
  request: Pick<IncomingMessage, "url">,
  { names, repeatable, prefix }: KnownQuery
): InvalidRequest | null => {
  if (!request.url?.includes("?")) return null
  const given = [...queryOf(request).keys()]
  const isKnown = (name: string) => names.includes(name) || (prefix !== null && name.startsWith(prefix))
  const known = prefix === null ? names : [...names, `${prefix}KEY`]
  const seen = new Set<string>()
  const refused = given.flatMap((name) => {
    const isFirst = !seen.has(name)
    seen.add(name)
    if (!isKnown(name)) return isFirst ? [{ name, message: unknownName(name, known) }] : []
    return isFirst || repeatable.includes(name) ? [] : [{ name, message: "Given more than once" }]
  })
  if (refused.length === 0) return null
  return invalidRequest(
    refused.slice(0, issuesMax).map(({ name, message }) => ({ path: [name.slice(0, shownMaxCharacters)], message }))
  )
}
