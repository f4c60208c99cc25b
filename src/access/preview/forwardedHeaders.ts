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
import { BoundedMap } from "../../store/BoundedMap.ts"
import { type Framing, framingHeaders } from "./Framing.ts"

/** As in `rawHeaders`: name, value, name, value … */
export type RawHeaders = Array<string>

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

/**
 * Headers that a visitor must not set: the gateway writes how the request arrived, and has handled an expectation. `Proxy` would become the
 * HTTP_PROXY of a CGI program.
 */
const isRewritten = (name: string): boolean =>
  name.startsWith("x-forwarded-") || ["expect", "forwarded", "host", "proxy", "x-real-ip"].includes(name)

interface HeaderName {
  /** Programs behind CGI and WSGI cannot tell `_` from `-` in a name. */
  readonly plain: string
  readonly isOfOneHop: boolean
  readonly isRewritten: boolean
}

const asNamed = (spelled: string): HeaderName => {
  const plain = spelled.toLowerCase().replaceAll("_", "-")
  return { plain, isOfOneHop: ofOneHop.has(plain), isRewritten: isRewritten(plain) }
}

const keptNamesMax = 1000
const keptNameMaxLength = 64

/** Clients and programs spell the same few names in every message. */
const keptNames = new BoundedMap<string, HeaderName>(keptNamesMax)

const nameOf = (spelled: string): HeaderName => {
  const kept = keptNames.get(spelled)
  if (kept !== undefined) return kept
  const name = asNamed(spelled)
  if (spelled.length <= keptNameMaxLength) keptNames.set(spelled, name)
  return name
}

/** The value that goes on; null: the header does not. */
type Rule = (name: HeaderName, value: string) => string | null

/** Of node:http's message, or as a fast path has read it. */
type Head = {
  readonly headers: { readonly connection?: string | undefined; readonly "referrer-policy"?: unknown }
  readonly rawHeaders: ReadonlyArray<string>
}

const namedIn = (connection: string): ReadonlySet<string> =>
  new Set(connection.split(",").map((name) => nameOf(name.trim()).plain))

const nothingNamed: ReadonlySet<string> = new Set()

/** Appends to `sent`. A message of known length must not announce trailers: node:http throws. */
const addEndToEnd = (sent: RawHeaders, { headers, rawHeaders }: Head, framing: Framing, rule: Rule): void => {
  const named = headers.connection === undefined ? nothingNamed : namedIn(headers.connection)
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = nameOf(rawHeaders[at]!)
    if (name.isOfOneHop || named.has(name.plain) || (name.plain === "trailer" && framing !== "chunked")) continue
    const value = rule(name, rawHeaders[at + 1]!)
    if (value !== null) sent.push(rawHeaders[at]!, value)
  }
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

/** An API key that a client sends everywhere must not reach the program. */
const isApiKey = ({ plain }: HeaderName, value: string): boolean =>
  plain === "authorization" && looksLikeSecret(value.replace(/^bearer\s+/i, ""))

const fromVisitor: Rule = (name, value) => (name.isRewritten || isApiKey(name, value) ? null : value)

/** The request for the program in the Sandbox. Host is unchanged, so that the program's links and origin checks work. */
export const requestHeaders = (request: IncomingMessage, framing: Framing, hop: Hop): RawHeaders => {
  const { headers, method } = request
  const host = headers.host ?? ""
  // Exactly one: the Host by which the preview was found.
  const sent: RawHeaders = ["Host", host]
  addEndToEnd(sent, request, framing, fromVisitor)
  sent.push("X-Forwarded-For", hop.said === null ? hop.address : `${hop.said}, ${hop.address}`)
  sent.push("X-Forwarded-Host", host, "X-Forwarded-Proto", hop.scheme, ...framingHeaders(framing))
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
const hostOnly: Rule = ({ plain }, value) =>
  plain === "set-cookie" ? value.replace(/;\s*domain\s*=[^;]*/gi, "") : value

/** The response for the visitor. The address is a capability, so other sites do not get it as a referrer unless the program allows it. */
export const responseHeaders = (response: Head, framing: Framing): RawHeaders => {
  const sent: RawHeaders = []
  addEndToEnd(sent, response, framing, hostOnly)
  sent.push(...framingHeaders(framing))
  if (response.headers["referrer-policy"] === undefined) sent.push("Referrer-Policy", "same-origin")
  return sent
}

/** The response that changes protocol: its Upgrade headers apply to both hops, and it has no body (RFC 9110 section 8.6). */
export const changeHeaders = (response: IncomingMessage): RawHeaders => {
  const sent: RawHeaders = []
  addEndToEnd(sent, response, "none", hostOnly)
  sent.push("Connection", "Upgrade", "Upgrade", response.headers.upgrade ?? "")
  return sent
}

/** Trailers of a request or response, filtered like headers, because some programs merge them into the headers. */
export const trailersOf = ({ rawTrailers }: IncomingMessage): Array<[string, string]> => {
  const sent: Array<[string, string]> = []
  for (let at = 0; at + 1 < rawTrailers.length; at += 2) {
    const name = nameOf(rawTrailers[at]!)
    const value = rawTrailers[at + 1]!
    if (!name.isOfOneHop && name.plain !== "trailer" && fromVisitor(name, value) !== null)
      sent.push([rawTrailers[at]!, hostOnly(name, value)!])
  }
  return sent
}
