/**
 * Parts of an accepted request that the description does not allow: the description is too narrow, or the service too
 * wide.
 */
import type { Contents, Description, Found, Operation, Parameter } from "./Description.ts"
import { type Exchange, type Headers, isKept, mediaTypeOf } from "./Exchange.ts"
import { eachMeantBy, meantBy } from "./textual.ts"

/** A session is a cookie, and a ticket a subprotocol: a browser's WebSocket has no other headers. */
const credentials = ["authorization", "cookie", "sec-websocket-protocol"]

const parameterFaults = (
  { schemas }: Description,
  { name, in: place, required, schema }: Parameter,
  texts: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const at = `${place} parameter ${name}`
  if (texts.length === 0) return required === true ? [`${at} is missing`] : []
  const isArray = schemas.meant(schema)["type"] === "array"
  if (texts.length > 1 && !isArray) return [`${at} is there more than once`]
  // OpenAPI repeats a parameter for a list, and a comma is part of a value; some parameters take commas between values, too.
  if (isArray && place === "query" && schemas.fault(schema, eachMeantBy(schemas, schema, texts)) === null) return []
  const fault = schemas.fault(schema, meantBy(schemas, schema, texts.join(",")))
  return fault === null ? [] : [`${at}: ${fault}`]
}

const searchOf = (target: string): string => (target.includes("?") ? target.slice(target.indexOf("?")) : "")

/** An object among the query parameters takes every parameter that has no other name. */
const queryFaults = (description: Description, { parameters }: Operation, search: string): ReadonlyArray<string> => {
  const given = new URLSearchParams(search)
  const ofQuery = parameters.filter((one) => one.in === "query")
  const isObject = ({ schema }: Parameter) => description.schemas.meant(schema)["type"] === "object"
  const named = ofQuery.filter((one) => !isObject(one))
  const names = new Set(named.map(({ name }) => name))
  const others = Object.fromEntries([...given].filter(([name]) => !names.has(name)))
  const object = ofQuery.find(isObject)
  const fault = object === undefined ? null : description.schemas.fault(object.schema, others)
  return [
    ...named.flatMap((one) => parameterFaults(description, one, given.getAll(one.name))),
    ...(object === undefined ? Object.keys(others).map((name) => `query parameter ${name} is not described`) : []),
    ...(fault === null ? [] : [`query: ${fault}`])
  ]
}

const contentFaults = (
  { schemas }: Description,
  content: Contents,
  headers: Headers,
  body: string | null
): ReadonlyArray<string> => {
  const told = content[mediaTypeOf(headers)]
  if (told === undefined) return [`a body of ${headers["content-type"]} is not described`]
  if (body === null || !isKept(headers)) return []
  const fault = schemas.faultOfJson(told.schema, body)
  return fault === null ? [] : [`body: ${fault}`]
}

const bodyFaults = (
  description: Description,
  { requestBody }: Operation,
  { requestHeaders, requestBody: body }: Exchange
): ReadonlyArray<string> => {
  if (body === "") return requestBody?.required === true ? ["the body is missing"] : []
  if (requestBody === undefined) return body === null ? [] : ["a body is not described"]
  return contentFaults(description, requestBody.content, requestHeaders, body)
}

export const requestFaults = (
  description: Description,
  { operation, values }: Found,
  exchange: Exchange
): ReadonlyArray<string> => {
  const { requestHeaders, target } = exchange
  const of = (place: Parameter["in"], texts: (name: string) => string | undefined) =>
    operation.parameters
      .filter((one) => one.in === place)
      .flatMap((one) => parameterFaults(description, one, [texts(one.name) ?? []].flat()))
  const isAnonymous = !credentials.some((name) => name in requestHeaders)
  return [
    ...of("path", (name) => values[name]),
    ...of("header", (name) => requestHeaders[name.toLowerCase()]),
    ...queryFaults(description, operation, searchOf(target)),
    ...(isAnonymous && operation.security.length > 0 ? ["it has no key"] : []),
    ...bodyFaults(description, operation, exchange)
  ]
}
