/** Which query parameters an endpoint has, and what is said of all others. */
import type { IncomingMessage } from "node:http"
import { Context, SchemaAST } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { QueryPrefix } from "../../schemas/Access.ts"
import type { InvalidRequest } from "../../schemas/Errors.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { queryOf } from "./RequestTarget.ts"
import { unknownName } from "./UnknownName.ts"

const issuesMax = 20
const shownMaxCharacters = 128

export interface KnownQuery {
  readonly names: ReadonlyArray<string>
  /** With any name behind it, as in `metadata.KEY`; null: none. */
  readonly prefix: string | null
}

export const knownQuery = (endpoint: HttpApiEndpoint.Top): KnownQuery => {
  const ast = endpoint.query === undefined ? undefined : SchemaAST.toEncoded(endpoint.query.ast)
  return {
    names: ast !== undefined && SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : [],
    prefix: Context.get(endpoint.annotations, QueryPrefix)
  }
}

/** Null when every parameter is known. */
export const refuseQuery = (
  request: Pick<IncomingMessage, "url">,
  { names, prefix }: KnownQuery
): InvalidRequest | null => {
  if (!request.url?.includes("?")) return null
  const given = new Set(queryOf(request).keys())
  const unknown = [...given].filter((name) => !names.includes(name) && !(prefix !== null && name.startsWith(prefix)))
  if (unknown.length === 0) return null
  const known = prefix === null ? names : [...names, `${prefix}KEY`]
  return invalidRequest(
    unknown
      .slice(0, issuesMax)
      .map((name) => ({ path: [name.slice(0, shownMaxCharacters)], message: unknownName(name, known) }))
  )
}
