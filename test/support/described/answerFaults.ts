/** The undescribed parts of an answer, and the described parts that it lacks. */
import type { Description, Response } from "./Description.ts"
import { type Exchange, isKept, mediaTypeOf } from "./Exchange.ts"
import { meantBy } from "./textual.ts"

const forProxies = "x-accel-buffering"

/** Headers that mean something to a program that calls this API, beside the `X-` ones. */
const telling = new Set(["accept-ranges", "allow", "link", "location", "retry-after", "www-authenticate"])

const isTelling = (name: string): boolean => telling.has(name) || (name.startsWith("x-") && name !== forProxies)

const headerFaults = (description: Description, response: Response, { headers }: Exchange): ReadonlyArray<string> => {
  const { schemas } = description
  const told = description.headers(response)
  const ofTold = [...told].flatMap(([name, { required, schema }]) => {
    const text = headers[name]
    if (text === undefined) return required === true ? [`the header ${name} is missing`] : []
    const fault = schemas.fault(schema, meantBy(schemas, schema, text))
    return fault === null ? [] : [`header ${name}: ${fault}`]
  })
  const untold = Object.keys(headers).filter((name) => isTelling(name) && !told.has(name))
  return [...ofTold, ...untold.map((name) => `the header ${name} is not described`)]
}

const codeOf = (body: string): string | null => {
  try {
    return JSON.parse(body).code
  } catch {
    return null
  }
}

/** The description cannot say this of a body. */
const isLine = (body: string): boolean => /[^\n]\n$/.test(body)

const jsonFaults = (
  { schemas }: Description,
  { content = {} }: Response,
  status: number,
  body: string
): ReadonlyArray<string> => {
  const { schema, examples } = content["application/json"]!
  const { discriminator } = schemas.meant(schema)
  if (discriminator === undefined) {
    const fault = schemas.faultOfJson(schema, body)
    return fault === null ? [] : [`body: ${fault}`]
  }
  const { mapping } = discriminator as { readonly mapping: Readonly<Record<string, string>> }
  const code = codeOf(body)
  if (code === null || !Object.hasOwn(mapping, code)) return [`the code ${code} is not described: ${body}`]
  const fault = schemas.faultOfJson({ $ref: mapping[code] }, body)
  return [
    ...(fault === null ? [] : [`body: ${fault}`]),
    ...(Object.hasOwn(examples ?? {}, code) ? [] : [`the code ${code} is not described for the status ${status}`])
  ]
}

/** @param response The description of this status. */
export const answerFaults = (
  description: Description,
  response: Response,
  exchange: Exchange
): ReadonlyArray<string> => {
  const { method, status, headers, body } = exchange
  const ofHeaders = headerFaults(description, response, exchange)
  const { content } = response
  if (method === "HEAD") return ofHeaders
  if (content === undefined) return body === "" || body === null ? ofHeaders : [...ofHeaders, "a body is not described"]
  const mediaType = mediaTypeOf(headers)
  if (!(mediaType in content)) return [...ofHeaders, `a body of ${headers["content-type"]} is not described`]
  if (body === null || !isKept(headers)) return ofHeaders
  const ofLine = isLine(body) ? [] : ["body: it does not end with exactly one line end"]
  return [...ofHeaders, ...ofLine, ...jsonFaults(description, response, status, body)]
}
