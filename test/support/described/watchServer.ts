/**
 * Observes every exchange that a server of this process has with a client outside of it: a browser, curl, a proxy, a
 * bare socket.
 */
import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage, ServerResponse } from "node:http"
import { bytesOf, type Exchange, headersOf, isKept } from "./Exchange.ts"
import { isOwn, watchSockets } from "./ownSockets.ts"

interface Begun {
  readonly sent: Array<Buffer>
  readonly answered: Array<Buffer>
}

/** Read from the wire: node does not return headers that are given with the status alone. */
const answerHeaders = (response: ServerResponse): Exchange["headers"] => {
  const { _header: head } = response as ServerResponse & { readonly _header: string }
  const lines = head.split("\r\n").slice(1)
  return headersOf(
    lines.flatMap((line) => (line === "" ? [] : [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]))
  )
}

/** As watchHttp. */
export const watchServer = (isWatched: (target: string) => boolean, onExchange: (exchange: Exchange) => void): void => {
  const begun = new WeakMap<ServerResponse, Begun>()
  watchSockets()

  subscribe("http.server.request.start", (message) => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
    if (!isWatched(request.url!) || isOwn(request.socket.remotePort!)) return
    const known: Begun = { sent: [], answered: [] }
    const keep = (chunk: unknown, encoding: unknown) => {
      const bytes = bytesOf(chunk, encoding)
      if (bytes !== null) known.answered.push(bytes)
    }
    const isSentKept = isKept(headersOf(request.rawHeaders))
    let isAnswerKept: boolean | null = null
    const { push } = request
    const { write, end } = response
    request.push = function (this: IncomingMessage, ...given: Array<unknown>) {
      const bytes = bytesOf(given[0], given[1])
      if (bytes !== null && isSentKept) known.sent.push(bytes)
      return Reflect.apply(push, this, given)
    } as typeof push
    response.write = function (this: ServerResponse, ...given: Array<unknown>) {
      const isTaken = Reflect.apply(write, this, given)
      isAnswerKept ??= isKept(answerHeaders(response))
      if (isAnswerKept) keep(given[0], given[1])
      return isTaken
    } as typeof write
    response.end = function (this: ServerResponse, ...given: Array<unknown>) {
      keep(given[0], given[1])
      return Reflect.apply(end, this, given)
    } as typeof end
    begun.set(response, known)
  })

  subscribe("http.server.response.finish", (message) => {
    const { request, response } = message as { readonly request: IncomingMessage; readonly response: ServerResponse }
    const known = begun.get(response)
    if (known === undefined) return
    const requestHeaders = headersOf(request.rawHeaders)
    const headers = answerHeaders(response)
    onExchange({
      method: request.method!,
      target: request.url!,
      requestHeaders,
      requestBody: isKept(requestHeaders) ? Buffer.concat(known.sent).toString() : null,
      status: response.statusCode,
      headers,
      body: isKept(headers) ? Buffer.concat(known.answered).toString() : null
    })
  })
}
