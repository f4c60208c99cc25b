/**
 * The headers of a message through the gateway: order, spelling and repetition are kept, hop-by-hop headers are removed.
 *
 * Headers about the body's length and the client's identity are never passed on: all of them are removed, and written
 * again from the parser's result (Framing.ts) and from the connection (gateway/Clients.ts). So no visitor can make the gateway and the
 * program see different messages.
 *
 * @source RFC 9110 sections 6.5.1 (trailers), 7.6.1 (Connection), RFC 9112 section 6.3
 */
import type { IncomingMessage } from "node:http"
import { looksLikeSecret } from "../../account/ApiKeySecret.ts"
import { type Framing, framingHeaders } from "./Framing.ts"

/** As in `rawHeaders`: name, value, name, value … */
export type RawHeaders = Array<string>

type Pair = readonly [name: string, value: string]

/** Hop-by-hop headers, including those that frame a body. */
const ofOneHop = new Set([
  "connection",
  "content-length",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade"
])

/** Programs behind CGI and WSGI cannot tell `_` from `-` in a name. */
const nameOf = (name: string): string => name.toLowerCase().replaceAll("_", "-")

const pairs = (raw: ReadonlyArray<string>): Array<Pair> => {
  const found: Array<Pair> = []
  for (let at = 0; at + 1 < raw.length; at += 2) found.push([raw[at]!, raw[at + 1]!])
  return found
}

/** Of node:http's message, or as a fast path has read it. */
type Head = {
  readonly headers: { readonly connection?: string | undefined; readonly "referrer-policy"?: unknown }
  readonly rawHeaders: ReadonlyArray<string>
}

/** A message of known length must not announce trailers: node:http throws. */
const endToEnd = ({ headers, rawHeaders }: Head, framing: Framing): Array<Pair> => {
  const named = new Set((headers.connection ?? "").split(",").map((name) => nameOf(name.trim())))
  return pairs(rawHeaders).filter(([spelled]) => {
    const name = nameOf(spelled)
    return !ofOneHop.has(name) && !named.has(name) && (name !== "trailer" || framing === "chunked")
  })
}

const bodylessByDefault = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])

export interface Hop {
  /** The visitor's protocol. */
  readonly scheme: "http" | "https"
  /** The visitor's address. */
  readonly address: string
  /** The visitor's own X-Forwarded-For; null: none. */
  readonly said: string | null
}

/**
 * Headers that a visitor must not set: the gateway writes how the request arrived, and has handled an expectation. `Proxy` would become the
 * HTTP_PROXY of a CGI program.
 */
const isRewritten = (name: string): boolean =>
  name.startsWith("x-forwarded-") || ["expect", "forwarded", "host", "proxy", "x-real-ip"].includes(name)

/** An API key that a client sends everywhere must not reach the program. */
const isApiKey = (name: string, value: string): boolean =>
  name === "authorization" && looksLikeSecret(value.replace(/^bearer\s+/i, ""))

const isVisitors = ([spelled, value]: Pair): boolean => {
  const name = nameOf(spelled)
  return !isRewritten(name) && !isApiKey(name, value)
}

/** The request for the program in the Sandbox. Host is unchanged, so that the program's links and origin checks work. */
export const requestHeaders = (request: IncomingMessage, framing: Framing, hop: Hop): RawHeaders => {
  const { headers, method } = request
  const sent: RawHeaders = [
    // Exactly one: the Host by which the preview was found.
    "Host",
    headers.host ?? "",
    ...endToEnd(request, framing).filter(isVisitors).flat(),
    "X-Forwarded-For",
    hop.said === null ? hop.address : `${hop.said}, ${hop.address}`,
    "X-Forwarded-Host",
    headers.host ?? "",
    "X-Forwarded-Proto",
    hop.scheme,
    ...framingHeaders(framing)
  ]
  if (framing === "none" && !bodylessByDefault.has(method ?? "GET")) sent.push("Content-Length", "0")
  if (/\btrailers\b/i.test(headers["te"]?.toString() ?? "")) sent.push("TE", "trailers")
  return sent
}

/** The same for an upgrade request, which has no body: its Upgrade headers apply to both hops. */
export const upgradeHeaders = (request: IncomingMessage, hop: Hop): RawHeaders => [
  ...requestHeaders(request, "none", hop),
  "Connection",
  "Upgrade",
  "Upgrade",
  request.headers.upgrade ?? ""
]

/** A cookie for the whole preview domain would reach every other preview, so it is limited to this host. */
const hostOnly = ([name, value]: Pair): Pair => [
  name,
  nameOf(name) === "set-cookie" ? value.replace(/;\s*domain\s*=[^;]*/gi, "") : value
]

/** The response for the visitor. The address is a capability, so other sites do not get it as a referrer unless the program allows it. */
export const responseHeaders = (response: Head, framing: Framing): RawHeaders => {
  const kept = endToEnd(response, framing).flatMap(hostOnly)
  kept.push(...framingHeaders(framing))
  return response.headers["referrer-policy"] === undefined ? [...kept, "Referrer-Policy", "same-origin"] : kept
}

/** The response that changes protocol: its Upgrade headers apply to both hops, and it has no body (RFC 9110 section 8.6). */
export const changeHeaders = (response: IncomingMessage): RawHeaders => [
  ...endToEnd(response, "none").flatMap(hostOnly),
  "Connection",
  "Upgrade",
  "Upgrade",
  response.headers.upgrade ?? ""
]

/** Trailers of a request or response, filtered like headers, because some programs merge them into the headers. */
export const trailersOf = ({ rawTrailers }: IncomingMessage): Array<[string, string]> =>
  pairs(rawTrailers)
    .filter((pair) => !ofOneHop.has(nameOf(pair[0])) && nameOf(pair[0]) !== "trailer" && isVisitors(pair))
    .map((pair) => [...hostOnly(pair)])
