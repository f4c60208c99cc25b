/**
 * The headers of a message on their way through the gateway: order, spelling and repetition are kept, what belongs to one hop goes.
 *
 * @source RFC 9110 section 7.6.1 (Connection), RFC 9112 section 6.1
 */
import type { IncomingMessage } from "node:http"

/** As in `rawHeaders`: name, value, name, value … */
export type RawHeaders = Array<string>

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade"
])

const pairs = (raw: ReadonlyArray<string>): Array<readonly [name: string, value: string]> => {
  const found: Array<readonly [string, string]> = []
  for (let at = 0; at + 1 < raw.length; at += 2) found.push([raw[at]!, raw[at + 1]!])
  return found
}

const endToEnd = ({ headers, rawHeaders }: IncomingMessage) => {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()))
  return pairs(rawHeaders).filter(([name]) => !hopByHop.has(name.toLowerCase()) && !named.has(name.toLowerCase()))
}

const bodylessByDefault = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])

export interface Hop {
  /** Protocol, as the visitor used it. */
  readonly scheme: "http" | "https"
  /** The visitor's address. */
  readonly address: string
}

/** The request as the program in the Sandbox gets it. Host stays what the visitor asked for, so that its links and origin checks hold. */
export const requestHeaders = (request: IncomingMessage, hop: Hop): RawHeaders => {
  const { headers, method } = request
  const rewritten = new Set(["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "expect"])
  const kept = endToEnd(request).filter(([name]) => !rewritten.has(name.toLowerCase()))
  const before = headers["x-forwarded-for"]?.toString()
  const sent: RawHeaders = [
    ...kept.flat(),
    "X-Forwarded-For",
    before === undefined ? hop.address : `${before}, ${hop.address}`,
    "X-Forwarded-Host",
    headers.host ?? "",
    "X-Forwarded-Proto",
    hop.scheme
  ]
  if (headers["transfer-encoding"] !== undefined) sent.push("Transfer-Encoding", "chunked")
  else if (headers["content-length"] === undefined && !bodylessByDefault.has(method ?? "GET")) {
    sent.push("Content-Length", "0")
  }
  if (/\btrailers\b/i.test(headers["te"]?.toString() ?? "")) sent.push("TE", "trailers")
  return sent
}

/** The same for a request that changes protocol: that part of it belongs to both hops. */
export const upgradeHeaders = (request: IncomingMessage, hop: Hop): RawHeaders => [
  ...requestHeaders(request, hop),
  "Connection",
  "Upgrade",
  "Upgrade",
  request.headers.upgrade ?? ""
]

/** A cookie for the whole preview domain would reach every other preview: it becomes this host's own. */
const hostOnly = (cookie: string): string => cookie.replace(/;\s*domain\s*=[^;]*/gi, "")

/** The answer as the visitor gets it. The address is a capability, so it is not told to other sites unless the program says so. */
export const responseHeaders = (response: IncomingMessage): RawHeaders => {
  const kept = endToEnd(response).flatMap(([name, value]) => [
    name,
    name.toLowerCase() === "set-cookie" ? hostOnly(value) : value
  ])
  return response.headers["referrer-policy"] === undefined ? [...kept, "Referrer-Policy", "same-origin"] : kept
}
