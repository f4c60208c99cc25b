/// <reference types="node" />
/**
 * Requests to a preview that need no name service: they go to the API's own address, and name the preview as Host, and in TLS as the server name
 * (SNI). The gateway finds a preview by that name only.
 *
 * There is no path of the API's own origin for previews: a page there would share the origin's cookies with the console and all other previews.
 */
import { type IncomingMessage, request as requestInClear } from "node:http"
import { request as requestOverTls } from "node:https"
import { pipeline, Readable } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { ConnectionError } from "../errors.ts"
import { outcomeOf } from "../http/outcomeOf.ts"
import { PreviewSocket } from "../PreviewSocket.ts"
import { HandshakeRefused } from "../socket/MessageSocket.ts"
import { NodeSocket, upgrade } from "./nodeSocket.ts"

export interface PreviewAddress {
  /** Of the API. */
  readonly api: URL
  /** In the preview. */
  readonly url: URL
}

const redirectsMax = 20
const messageMaxBytes = 64 * 1024 * 1024
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304])
const redirecting: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const decoders = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress }
const isCoding = (name: string): name is keyof typeof decoders => Object.hasOwn(decoders, name)

/** The address of the connection: the API's, with the path of the preview's URL. */
const connectionOf = ({ api, url }: PreviewAddress): URL => new URL(url.pathname + url.search, api.origin)

const servernameOf = ({ api, url }: PreviewAddress): string | undefined =>
  api.protocol === "https:" ? url.hostname : undefined

const lost = (what: string, thrown: unknown): ConnectionError =>
  new ConnectionError(
    `${what}: the service was not reached, or cut the connection (${thrown instanceof Error ? thrown.message : String(thrown)}).`,
    outcomeOf(thrown),
    thrown
  )

const bodyOf = (answer: IncomingMessage): ReadableStream<Uint8Array> => {
  const coding = String(answer.headers["content-encoding"] ?? "").toLowerCase()
  const plain = isCoding(coding) ? pipeline(answer, decoders[coding](), () => {}) : answer
  return Readable.toWeb(plain) as ReadableStream<Uint8Array>
}

const responseOf = (answer: IncomingMessage, method: string, url: URL, isRedirected: boolean): Response => {
  const headers = new Headers()
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2)
    headers.append(answer.rawHeaders[at]!, answer.rawHeaders[at + 1]!)
  const status = answer.statusCode ?? 502
  const isEmpty = method === "HEAD" || bodiless.has(status)
  if (isEmpty) answer.resume()
  const response = new Response(isEmpty ? null : bodyOf(answer), {
    status,
    statusText: answer.statusMessage ?? "",
    headers
  })
  // A Response that is made by hand knows neither.
  return Object.defineProperties(response, { url: { value: url.href }, redirected: { value: isRedirected } })
}

interface Sent {
  readonly method: string
  readonly headers: Headers
  /** A stream is sent once. */
  readonly body: ReadableStream<Uint8Array> | Uint8Array | null
  readonly signal: AbortSignal
}

const send = (address: PreviewAddress, { method, headers, body, signal }: Sent): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const { api, url } = address
    const servername = servernameOf(address)
    const asked = (api.protocol === "https:" ? requestOverTls : requestInClear)(connectionOf(address), {
      method,
      // A connection that is kept would belong to one preview: the server name is part of it.
      agent: false,
      signal,
      ...(servername === undefined ? {} : { servername }),
      headers: {
        "accept-encoding": "identity",
        ...Object.fromEntries(headers),
        host: url.host,
        ...(body instanceof Uint8Array ? { "content-length": String(body.byteLength) } : {})
      }
    })
    asked.on("error", (error) => reject(signal.aborted ? signal.reason : lost(`${method} ${url.href}`, error)))
    asked.on("response", resolve)
    if (body === null) asked.end()
    else if (body instanceof Uint8Array) asked.end(body)
    else pipeline(Readable.fromWeb(body as never), asked, () => {})
  })

/** As fetch follows: another method after 303, and after 301 and 302 of a POST. */
const redirectedBy = (status: number, sent: Sent): Sent => {
  const isGet = sent.method === "GET" || sent.method === "HEAD"
  if (!(status === 303 ? !isGet : (status === 301 || status === 302) && sent.method === "POST")) return sent
  const headers = new Headers(sent.headers)
  for (const name of ["content-type", "content-length", "content-encoding", "content-language", "content-location"])
    headers.delete(name)
  return { ...sent, method: "GET", headers, body: null }
}

/** As `fetch` does. Fails with ConnectionError where no answer comes. */
export const previewFetch = async (address: PreviewAddress, init: RequestInit = {}): Promise<Response> => {
  const isStream = init.body instanceof ReadableStream
  const request = new Request(address.url, { ...init, ...(isStream ? { duplex: "half" } : {}) } as RequestInit)
  const body = isStream ? request.body : request.body === null ? null : new Uint8Array(await request.arrayBuffer())
  let sent: Sent = { method: request.method, headers: request.headers, body, signal: request.signal }
  let url = address.url
  for (let followed = 0; ; followed++) {
    const answer = await send({ ...address, url }, sent)
    const status = answer.statusCode ?? 502
    const { location } = answer.headers
    const mode = init.redirect ?? "follow"
    if (location === undefined || !redirecting.has(status) || mode === "manual")
      return responseOf(answer, sent.method, url, followed > 0)
    answer.resume()
    if (mode === "error") throw new TypeError(`${url.href} redirects to ${location}, which redirect: "error" refuses.`)
    if (followed === redirectsMax) throw new TypeError(`${address.url.href} redirects more than ${redirectsMax} times.`)
    const next = new URL(location, url)
    sent = redirectedBy(status, sent)
    if (sent.body instanceof ReadableStream)
      throw new TypeError("A body that is a stream cannot be sent again after a redirect.")
    // Not the preview any more: what was meant for it stays here.
    if (next.host !== address.url.host)
      return fetch(next, { method: sent.method === "HEAD" ? "HEAD" : "GET", signal: sent.signal })
    url = next
  }
}

export interface PreviewSocketOptions {
  /** Subprotocols, the preferred one first. */
  readonly protocols?: ReadonlyArray<string> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Ends the handshake. */
  readonly signal?: AbortSignal | undefined
}

/** Fails with ConnectionError where the answer is no handshake, or none comes. */
export const previewSocket = async (
  address: PreviewAddress,
  { protocols = [], headers = {}, signal = new AbortController().signal }: PreviewSocketOptions
): Promise<PreviewSocket> => {
  const { url } = address
  try {
    const { protocol, stream, head } = await upgrade({
      url: connectionOf(address),
      servername: servernameOf(address),
      headers: {
        ...headers,
        host: url.host,
        ...(protocols.length === 0 ? {} : { "sec-websocket-protocol": protocols.join(", ") })
      },
      signal
    })
    return new PreviewSocket(
      protocol,
      (listener) => new NodeSocket(stream, head, listener, { messageMaxBytes, isPinged: false })
    )
  } catch (thrown) {
    if (thrown instanceof HandshakeRefused) {
      const said = (await thrown.answer.text()).trim().slice(0, 200)
      throw new ConnectionError(
        `WebSocket ${url.href}: answered with ${thrown.answer.status}. ${said}`,
        "notApplied",
        thrown
      )
    }
    throw signal.aborted ? signal.reason : lost(`WebSocket ${url.href}`, thrown)
  }
}
