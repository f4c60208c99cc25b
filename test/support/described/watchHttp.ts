/** Observes every exchange of this process as a client of node:http or node:https, and changes nothing. */
import { subscribe } from "node:diagnostics_channel"
import type { ClientRequest, IncomingMessage } from "node:http"
import { bytesOf, type Exchange, headersOf, isKept } from "./Exchange.ts"

interface Begun {
  readonly sent: Array<Buffer>
  readonly tell: (status: number, headers: Exchange["headers"], body: string | null) => void
}

const sentHeaders = (request: ClientRequest): Exchange["requestHeaders"] =>
  headersOf(Object.entries(request.getHeaders()).flatMap(([name, value]) => [name, String(value)]))

/**
 * @param isWatched By its path and query, before anything is sent.
 * @param onExchange Called once the answer is complete; an answer that breaks off is not reported.
 */
export const watchHttp = (isWatched: (target: string) => boolean, onExchange: (exchange: Exchange) => void): void => {
  const begun = new WeakMap<ClientRequest, Begun>()

  subscribe("http.client.request.created", (message) => {
    const { request } = message as { readonly request: ClientRequest }
    if (!isWatched(request.path)) return
    const sent: Array<Buffer> = []
    const keep = (chunk: unknown, encoding: unknown) => {
      const bytes = bytesOf(chunk, encoding)
      if (bytes !== null && isKept(sentHeaders(request))) sent.push(bytes)
    }
    const { write, end, emit } = request
    request.write = function (this: ClientRequest, ...given: Array<unknown>) {
      keep(given[0], given[1])
      return Reflect.apply(write, this, given)
    } as typeof write
    request.end = function (this: ClientRequest, ...given: Array<unknown>) {
      keep(given[0], given[1])
      return Reflect.apply(end, this, given)
    } as typeof end
    const tell: Begun["tell"] = (status, headers, body) => {
      const requestHeaders = sentHeaders(request)
      onExchange({
        method: request.method,
        target: request.path,
        requestHeaders,
        requestBody: isKept(requestHeaders) ? Buffer.concat(sent).toString() : null,
        status,
        headers,
        body
      })
    }
    // No channel reports an answer that changes the protocol.
    request.emit = function (this: ClientRequest, ...given: Array<unknown>) {
      if (given[0] === "upgrade") {
        const { statusCode, rawHeaders } = given[1] as IncomingMessage
        tell(statusCode!, headersOf(rawHeaders), null)
      }
      return Reflect.apply(emit, this, given)
    } as typeof emit
    begun.set(request, { sent, tell })
  })

  subscribe("http.client.response.finish", (message) => {
    const { request, response } = message as { readonly request: ClientRequest; readonly response: IncomingMessage }
    const known = begun.get(request)
    if (known === undefined) return
    const headers = headersOf(response.rawHeaders)
    if (!isKept(headers)) return known.tell(response.statusCode!, headers, null)
    const received: Array<Buffer> = []
    const { push } = response
    // Null is its end; an answer that breaks off has none.
    response.push = function (this: IncomingMessage, ...given: Array<unknown>) {
      if (given[0] === null) known.tell(response.statusCode!, headers, Buffer.concat(received).toString())
      else received.push(given[0] as Buffer)
      return Reflect.apply(push, this, given)
    } as typeof push
  })
}
