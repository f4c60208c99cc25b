/**
 * The headers of a message on their way through the gateway: order, spelling and repetition are kept, what belongs to one hop goes.
 *
 * @source RFC 9110 section 7.6.1 (Connection), RFC 9112 section 6.1
 */
import type { IncomingMessage } from "node:http"
import { looksLikeSecret } from "../account/ApiKeySecret.ts"

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

/** A message of known length has no trailers to announce (node:http throws at it), and a length beside chunks is no length (RFC 9112 section 6.3). */
const endToEnd = ({ headers, rawHeaders }: IncomingMessage, isChunked: boolean) => {
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()))
  return pairs(rawHeaders).filter(([name]) => {
    const lower = name.toLowerCase()
    return !hopByHop.has(lower) && !named.has(lower) && lower !== (isChunked ? "content-length" : "trailer")
  })
}

const bodylessByDefault = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])

export interface Hop {
  /** Protocol, as the visitor used it. */
  readonly scheme: "http" | "https"
  /** The visitor's address. */
  readonly address: string
}

/** What a visitor may not say: how the request came here is ours to tell, and an expectation was met here. */
const isRewritten = (name: string): boolean =>
  name.startsWith("x-forwarded-") || ["expect", "forwarded", "host", "x-real-ip"].includes(name)

/** An API key that a client sends everywhere is none of the program's business. */
const isApiKey = (name: string, value: string): boolean =>
  name === "authorization" && looksLikeSecret(value.replace(/^bearer\s+/i, ""))

/** The request as the program in the Sandbox gets it. Host stays what the visitor asked for, so that its links and origin checks hold. */
export const requestHeaders = (request: IncomingMessage, hop: Hop): RawHeaders => {
  const { headers, method } = request
  const isChunked = headers["transfer-encoding"] !== undefined
  const kept = endToEnd(request, isChunked).filter(([name, value]) => {
    const lower = name.toLowerCase()
    return !isRewritten(lower) && !isApiKey(lower, value)
  })
  const before = headers["x-forwarded-for"]?.toString()
  const sent: RawHeaders = [
    // Once, whatever came: the one that the preview was found by.
    "Host",
    headers.host ?? "",
    ...kept.flat(),
    "X-Forwarded-For",
    before === undefined ? hop.address : `${before}, ${hop.address}`,
    "X-Forwarded-Host",
    headers.host ?? "",
    "X-Forwarded-Proto",
    hop.scheme
  ]
  if (isChunked) sent.push("Transfer-Encoding", "chunked")
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

/**
 * The answer as the visitor gets it. The address is a capability, so it is not told to other sites unless the program says so.
 *
 * @param isChunked It goes on in chunks: its length is not known, and trailers may follow.
 */
export const responseHeaders = (response: IncomingMessage, isChunked: boolean): RawHeaders => {
  const kept = endToEnd(response, isChunked).flatMap(([name, value]) => [
    name,
    name.toLowerCase() === "set-cookie" ? hostOnly(value) : value
  ])
  return response.headers["referrer-policy"] === undefined ? [...kept, "Referrer-Policy", "same-origin"] : kept
}
