/**
 * The headers of a message on their way through the gateway: order, spelling and repetition are kept, what belongs to one hop goes.
 *
 * How long a body is, and whose request it is, are never a header that goes through: they are left out, whatever names them, and said
 * anew from what the parser found (Framing.ts) and from the connection (gateway/Clients.ts). So nothing that a visitor writes can make the gateway and the
 * program see different messages.
 *
 * @source RFC 9110 sections 6.5.1 (trailers), 7.6.1 (Connection), RFC 9112 section 6.3
 */
import type { IncomingMessage } from "node:http"
import { looksLikeSecret } from "../account/ApiKeySecret.ts"
import { type Framing, framingHeaders } from "./Framing.ts"

/** As in `rawHeaders`: name, value, name, value … */
export type RawHeaders = Array<string>

type Pair = readonly [name: string, value: string]

/** Of this hop alone, the ones that frame a body included. */
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

/** A message of known length has no trailers to announce: node:http throws at it. */
const endToEnd = ({ headers, rawHeaders }: IncomingMessage, framing: Framing): Array<Pair> => {
  const named = new Set((headers.connection ?? "").split(",").map((name) => nameOf(name.trim())))
  return pairs(rawHeaders).filter(([spelled]) => {
    const name = nameOf(spelled)
    return !ofOneHop.has(name) && !named.has(name) && (name !== "trailer" || framing === "chunked")
  })
}

const bodylessByDefault = new Set(["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])

export interface Hop {
  /** Protocol, as the visitor used it. */
  readonly scheme: "http" | "https"
  /** The visitor's address. */
  readonly address: string
  /** What the visitor said of addresses before its own; null: nothing. */
  readonly said: string | null
}

/**
 * What a visitor may not say: how the request came here is ours to tell, and an expectation was met here. `Proxy` would become the
 * HTTP_PROXY of a CGI program.
 */
const isRewritten = (name: string): boolean =>
  name.startsWith("x-forwarded-") || ["expect", "forwarded", "host", "proxy", "x-real-ip"].includes(name)

/** An API key that a client sends everywhere is none of the program's business. */
const isApiKey = (name: string, value: string): boolean =>
  name === "authorization" && looksLikeSecret(value.replace(/^bearer\s+/i, ""))

const isVisitors = ([spelled, value]: Pair): boolean => {
  const name = nameOf(spelled)
  return !isRewritten(name) && !isApiKey(name, value)
}

/** The request as the program in the Sandbox gets it. Host stays what the visitor asked for, so that its links and origin checks hold. */
export const requestHeaders = (request: IncomingMessage, framing: Framing, hop: Hop): RawHeaders => {
  const { headers, method } = request
  const sent: RawHeaders = [
    // Once, whatever came: the one that the preview was found by.
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

/** The same for a request that changes protocol, which has no body: that part of it belongs to both hops. */
export const upgradeHeaders = (request: IncomingMessage, hop: Hop): RawHeaders => [
  ...requestHeaders(request, "none", hop),
  "Connection",
  "Upgrade",
  "Upgrade",
  request.headers.upgrade ?? ""
]

/** A cookie for the whole preview domain would reach every other preview: it becomes this host's own. */
const hostOnly = ([name, value]: Pair): Pair => [
  name,
  nameOf(name) === "set-cookie" ? value.replace(/;\s*domain\s*=[^;]*/gi, "") : value
]

/** The answer as the visitor gets it. The address is a capability, so it is not told to other sites unless the program says so. */
export const responseHeaders = (response: IncomingMessage, framing: Framing): RawHeaders => {
  const kept = endToEnd(response, framing).flatMap(hostOnly)
  kept.push(...framingHeaders(framing))
  return response.headers["referrer-policy"] === undefined ? [...kept, "Referrer-Policy", "same-origin"] : kept
}

/** The answer that changes protocol: that part of it belongs to both hops, and it has no body (RFC 9110 section 8.6). */
export const changeHeaders = (response: IncomingMessage): RawHeaders => [
  ...endToEnd(response, "none").flatMap(hostOnly),
  "Connection",
  "Upgrade",
  "Upgrade",
  response.headers.upgrade ?? ""
]

/** Trailers of a request or an answer. Whoever merges them into the headers must learn nothing else from them than from headers. */
export const trailersOf = ({ rawTrailers }: IncomingMessage): Array<[string, string]> =>
  pairs(rawTrailers)
    .filter((pair) => !ofOneHop.has(nameOf(pair[0])) && nameOf(pair[0]) !== "trailer" && isVisitors(pair))
    .map((pair) => [...hostOnly(pair)])
