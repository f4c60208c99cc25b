/**
 * The OpenAPI description, made from the HttpApi: what Effect derives, told in the contract's own terms.
 *
 * - every error status names its codes, with an example of each, and has the one body Error, a union by code;
 * - every operation names its scope, and the bearer key as its security;
 * - every request and answer has an example (OpenApiExamples.ts), and every operation is shown in three languages (OpenApiSamples.ts);
 * - integers and bytes say how they are carried (OpenApiShapes.ts);
 * - objects of answers stay open, since clients ignore unknown fields; those of requests are closed, since the server refuses them;
 * - query parameters have the type that they mean, not the string that carries them.
 */
import { Context, Schema, SchemaAST } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, OptionalBody, ReadOnly, RequiredScope } from "./Access.ts"
import { ErrorBody } from "./Errors.ts"
import { errorExamples } from "./OpenApiErrorExamples.ts"
import { codesOf, errorResponse, isErrorCode, requestId, withErrorUnion } from "./OpenApiErrors.ts"
import { headTooLarge, otherResponse } from "./OpenApiFailures.ts"
import { withSamples } from "./OpenApiSamples.ts"
import { carried } from "./OpenApiShapes.ts"
import { capabilityScheme, capabilitySecurity, tunnel, tunnelFailures, tunnelPath } from "./OpenApiTunnel.ts"

type Json = Record<string, unknown>

const securityScheme = "apiKey"

const RequestId = {
  description: "The caller's X-Request-Id, or one that was made for the request.",
  required: true,
  schema: { type: "string" }
}
const RetryAfter = { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } }
const WwwAuthenticate = { description: "Always Bearer.", required: true, schema: { type: "string" } }

const Allow = { description: "The methods that the path has.", schema: { type: "string" } }
const Help = {
  description: 'Where this service explains the code: `</docs#CODE>; rel="help"`.',
  schema: { type: "string" }
}

/** JSON Schema of each query parameter as a value. */
const queryTypes = (endpoint: HttpApiEndpoint.Top): ReadonlyMap<string, Json> => {
  const query = endpoint.query
  if (query === undefined) return new Map()
  const { schema } = Schema.toJsonSchemaDocument(Schema.toType(query))
  const named = JSON.stringify(schema["properties"] ?? {}).replaceAll("#/$defs/", "#/components/schemas/")
  return new Map(Object.entries(JSON.parse(named) as Record<string, Json>))
}

/** Query parameters without which a request does not decode. */
const requiredQuery = (endpoint: HttpApiEndpoint.Top): ReadonlySet<string> => {
  const ast = endpoint.query === undefined ? undefined : SchemaAST.toEncoded(endpoint.query.ast)
  if (ast === undefined || !SchemaAST.isObjects(ast)) return new Set()
  return new Set(
    ast.propertySignatures.filter(({ type }) => !SchemaAST.isOptional(type)).map(({ name }) => String(name))
  )
}

interface Parameter {
  name: string
  in: string
  required: boolean
  schema: Json
  description?: string
  example?: unknown
}

const headerName = (name: string): string =>
  name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()).replace(/-Eof$/, "-EOF")

/** The value that a header's text stands for. */
const headerType = (schema: Json): Json => {
  if (schema["pattern"] === "^\\d+$") return { type: "integer", minimum: 0 }
  if (JSON.stringify(schema["enum"]) === '["true","false"]') return { type: "boolean" }
  return schema
}

interface ResponseHeader {
  readonly schema: Json
  readonly required?: boolean
}

/** Headers of an answer by the names that people know, with their descriptions beside their schemas. */
const responseHeaders = (given: Readonly<Record<string, ResponseHeader>>): Json =>
  Object.fromEntries(
    Object.entries(given).map(([name, { schema: whole, ...header }]) => {
      const { description, ...schema } = whole
      return [headerName(name), { ...header, description, schema: headerType(schema) }]
    })
  )

const eventStream = "text/event-stream"

const contentOf = (given: Json): Json =>
  eventStream in given ? { ...given, [eventStream]: { schema: { type: "string" } } } : given

/** The description of an answer whose schema has none. */
const saidOf = (given: Json): string => {
  const said = String(given["description"])
  if (said === "<No Content>") return "Done. No body."
  if (said !== "Success") return said
  return eventStream in ((given["content"] ?? {}) as Json) ? "The stream has begun." : "Done."
}

const successResponse = (given: Json): Json => ({
  ...given,
  description: saidOf(given),
  ...("content" in given ? { content: contentOf(given["content"] as Json) } : {}),
  headers: {
    ...requestId,
    ...responseHeaders((given["headers"] ?? {}) as Readonly<Record<string, ResponseHeader>>)
  }
})

const parameterOf = (given: Parameter, types: ReadonlyMap<string, Json>, required: ReadonlySet<string>): Parameter => {
  if (given.in === "header") return { ...given, name: headerName(given.name) }
  if (given.in !== "query") return given
  const parameter = { ...given, required: required.has(given.name) }
  const type = types.get(parameter.name)
  // An instant is a number only inside; all other numbers are integers.
  if (type === undefined || "$ref" in type || type["type"] === "number") return parameter
  return { ...parameter, schema: type }
}

/** Descriptions of parameters belong beside their schemas. */
const described = (parameter: Parameter): Parameter => {
  const { description, ...schema } = parameter.schema
  return typeof description === "string" ? { ...parameter, description, schema } : parameter
}

const meaning = (schema: Json | undefined): string => {
  const { description: _, ...rest } = schema ?? {}
  return JSON.stringify(rest)
}

/**
 * A status, a description or a default makes a copy of a named schema (Name_1, NameEncoded). One that means the same goes by the first
 * name, and the description of a status stands beside its answer; what a default adds to a name is said in place.
 */
const withoutCopies = (document: Json): Json => {
  const { schemas } = document["components"] as { readonly schemas: Record<string, Json> }
  const names = new Map<string, string>()
  for (const [name, schema] of Object.entries(schemas)) {
    const original = name.replace(/(?:_\d+|Encoded)$/, "")
    if (original === name || meaning(schemas[original]) !== meaning(schema)) continue
    names.set(name, original)
    if (schemas[original]!["description"] !== schema["description"]) delete schemas[original]!["description"]
  }
  const text = JSON.stringify(document).replace(/"#\/components\/schemas\/(\w+)"/g, (ref, name: string) =>
    names.has(name) ? `"#/components/schemas/${names.get(name)}"` : ref
  )
  const renamed = JSON.parse(text) as { readonly components: { readonly schemas: Record<string, Json> } }
  for (const name of names.keys()) delete renamed.components.schemas[name]
  return renamed as unknown as Json
}

const isEncoded = /^#\/components\/schemas\/(\w+Encoded)$/

/** Puts the schemas that are only a name with a default where they are used. */
const withoutEncoded = (document: Json): Json => {
  const { schemas } = document["components"] as { readonly schemas: Record<string, Json> }
  const inlined = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(inlined)
    if (typeof node !== "object" || node === null) return node
    const name = isEncoded.exec(String((node as Json)["$ref"]))?.[1]
    if (name !== undefined) return inlined(schemas[name])
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inlined(value)]))
  }
  const whole = inlined(document) as { readonly components: { readonly schemas: Record<string, Json> } }
  for (const name of Object.keys(schemas)) if (name.endsWith("Encoded")) delete whole.components.schemas[name]
  return whole as unknown as Json
}

/** Effect's own: an object without fields is said as what is not null; the encoding of a stream's bytes is left out. */
const plain = (node: Json): Json => {
  const { not, "x-effect-stream": _, ...rest } = node
  return not === undefined
    ? rest
    : JSON.stringify(not) === '{"type":"null"}'
      ? { type: "object", ...rest }
      : { not, ...rest }
}

const refsIn = (node: unknown): ReadonlyArray<string> =>
  [...(JSON.stringify(node) ?? "").matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!)

/** Names of the schemas that request bodies are made of. */
const requestSchemas = (paths: Record<string, Record<string, Json>>, schemas: Json): ReadonlySet<string> => {
  const bodies = Object.values(paths).flatMap((item) => Object.values(item).map(({ requestBody }) => requestBody))
  const found = new Set(refsIn(bodies))
  // A set's iteration goes on to what is added meanwhile.
  for (const name of found) for (const inner of refsIn(schemas[name])) found.add(inner)
  return found
}

/** Objects of answers are open, those of requests closed, also those whose fields are all optional. */
const opened = (node: unknown, ofRequests: ReadonlySet<string>, isRequest = false): unknown => {
  if (Array.isArray(node)) return node.map((item) => opened(item, ofRequests, isRequest))
  if (typeof node !== "object" || node === null) return node
  const told = plain(node as Json)
  const hasNoFields = isRequest && told["type"] === "object" && !("properties" in told)
  return Object.fromEntries(
    Object.entries(hasNoFields ? { additionalProperties: false, ...told } : told)
      .filter(([key, value]) => isRequest || !(key === "additionalProperties" && value === false))
      .map(([key, value]) => [
        key,
        opened(value, ofRequests, isRequest || key === "requestBody" || ofRequests.has(key))
      ])
  )
}

/** An exploded form: each property of the object is a separate query parameter. */
const metadataParameter: Parameter & { readonly style: string; readonly explode: boolean } = {
  name: "metadata",
  in: "query",
  required: false,
  style: "form",
  explode: true,
  description:
    "Any number of pairs `metadata.KEY=VALUE`: only Sandboxes whose metadata has them all. Each KEY once; the object's property is named `metadata.KEY`.",
  schema: { type: "object", propertyNames: { pattern: "^metadata\\..+$" }, additionalProperties: { type: "string" } },
  example: { "metadata.team": "blue" }
}

const completed = (
  operation: Json,
  endpoint: HttpApiEndpoint.Top,
  failures: ReadonlyMap<number, ReadonlyArray<Schema.Top>>
): Json => {
  const types = queryTypes(endpoint)
  const required = requiredQuery(endpoint)
  const isGuarded = endpoint.middlewares.has(Authorized as never)
  const scope = Context.getOrUndefined(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope)
  const responses = { ...(operation["responses"] as Record<string, Json>) }
  for (const [status, response] of Object.entries(responses)) {
    responses[status] = successResponse(response)
  }
  const mayChange = isGuarded && endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly)
  for (const [status, codes] of codesOf(failures)) responses[status] = errorResponse(status, codes, mayChange)
  responses[431] = headTooLarge
  const parameters = (operation["parameters"] as ReadonlyArray<Parameter>).map((parameter) =>
    described(parameterOf(parameter, types, required))
  )
  const body = operation["requestBody"] as Json | undefined
  return {
    ...operation,
    parameters: endpoint.identifier === "listSandboxes" ? [...parameters, metadataParameter] : parameters,
    ...(body === undefined
      ? {}
      : { requestBody: { ...body, required: !Context.get(endpoint.annotations, OptionalBody) } }),
    description: [operation["description"], scope === undefined ? null : `Needs the scope \`${scope}\`.`]
      .filter(Boolean)
      .join("\n\n"),
    security: isGuarded ? [{ [securityScheme]: scope === undefined ? [] : [scope] }] : [],
    responses: { ...responses, default: otherResponse }
  }
}

/** What no endpoint is: its gateway is before them all. */
const tunnelItem = (): Json => ({
  get: {
    ...tunnel,
    responses: {
      101: successResponse(tunnel.responses[101]),
      ...Object.fromEntries(
        [...tunnelFailures].map(([status, codes]) => [status, errorResponse(status, codes, false)])
      ),
      431: headTooLarge,
      default: otherResponse
    }
  }
})

/** A JSON document, OpenAPI 3.1. */
export const openApiDocument = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): Json => {
  const derived = OpenApi.fromApi(api.annotate(HttpApi.AdditionalSchemas, [ErrorBody])) as unknown as Json
  const paths = structuredClone(derived["paths"]) as Record<string, Record<string, Json>>
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors: failures }) => {
      const item = paths[endpoint.path.replace(/:(\w+)/g, "{$1}")]!
      const method = endpoint.method.toLowerCase()
      item[method] = completed(item[method]!, endpoint, failures)
    }
  })
  const hasTunnels = `${tunnelPath.slice(0, tunnelPath.lastIndexOf("/"))}/sandboxes/{id}/services` in paths
  if (hasTunnels) paths[tunnelPath] = tunnelItem() as Record<string, Json>
  const components = derived["components"] as { readonly schemas: Record<string, Json> }
  const schemas = Object.fromEntries(
    Object.entries(components.schemas).filter(([name]) => !isErrorCode(name.replace(/Encoded$/, "")))
  )
  const usesRetryAfter = JSON.stringify(paths).includes("#/components/headers/RetryAfter")
  const complete = withoutEncoded(
    withoutCopies(
      opened(
        {
          ...derived,
          servers: [{ url: "/", description: "This server." }],
          info: {
            ...(derived["info"] as Json),
            contact: { name: "The operator of this server" },
            license: { name: "Proprietary", url: "https://spdx.org/licenses/LicenseRef-Proprietary" }
          },
          security: [{ [securityScheme]: [] }],
          paths,
          components: {
            schemas: withErrorUnion(schemas),
            examples: errorExamples,
            headers: { RequestId, WwwAuthenticate, Allow, Help, ...(usesRetryAfter ? { RetryAfter } : {}) },
            securitySchemes: {
              ...(hasTunnels ? { [capabilityScheme]: capabilitySecurity } : {}),
              [securityScheme]: {
                type: "http",
                scheme: "bearer",
                description:
                  "An API key. It never goes into a URL. A missing, unknown or revoked one gives 401, one without the scope that an operation names gives 403."
              }
            }
          }
        },
        requestSchemas(paths, schemas)
      ) as Json
    )
  )
  return withSamples(carried(complete) as Json)
}
