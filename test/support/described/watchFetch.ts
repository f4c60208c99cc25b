/** Observes every exchange of this process by `fetch`. */
import { subscribe } from "node:diagnostics_channel"
import { type Exchange, headersOf, isKept } from "./Exchange.ts"

/** undici's messages about a request. */
interface Request {
  /** As text, or as a URL. */
  readonly origin: string | URL
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyArray<string>
}

interface Begun {
  readonly sent: Array<Uint8Array>
  readonly received: Array<Uint8Array>
  answer: { readonly status: number; readonly headers: Exchange["headers"] }
}

/** As watchHttp. */
export const watchFetch = (isWatched: (target: string) => boolean, onExchange: (exchange: Exchange) => void): void => {
  const begun = new WeakMap<Request, Begun>()
  const onBegun = (channel: string, then: (known: Begun, message: object, request: Request) => void) =>
    subscribe(`undici:request:${channel}`, (message) => {
      const { request } = message as { readonly request: Request }
      const known = begun.get(request)
      if (known !== undefined) then(known, message as object, request)
    })

  const tell = ({ sent, received, answer }: Begun, { origin, method, path, headers }: Request) => {
    // undici adds the host's name after these messages.
    const requestHeaders = { host: new URL(origin).host, ...headersOf(headers) }
    onExchange({
      method,
      target: path,
      requestHeaders,
      requestBody: isKept(requestHeaders) ? Buffer.concat(sent).toString() : null,
      ...answer,
      body: isKept(answer.headers) ? Buffer.concat(received).toString() : null
    })
  }

  subscribe("undici:request:create", (message) => {
    const { request } = message as { readonly request: Request }
    if (isWatched(request.path)) {
      begun.set(request, { sent: [], received: [], answer: { status: 0, headers: {} } })
    }
  })
  onBegun("bodyChunkSent", ({ sent }, message, { headers }) => {
    const { chunk } = message as { readonly chunk: Uint8Array | string }
    if (isKept(headersOf(headers))) sent.push(Buffer.from(chunk as Uint8Array))
  })
  onBegun("headers", (known, message, request) => {
    const { response } = message as { readonly response: { statusCode: number; headers: ReadonlyArray<Buffer> } }
    known.answer = { status: response.statusCode, headers: headersOf(response.headers) }
    if (!isKept(known.answer.headers)) tell(known, request)
  })
  onBegun("bodyChunkReceived", ({ received, answer }, message) => {
    if (isKept(answer.headers)) received.push((message as { readonly chunk: Buffer }).chunk)
  })
  onBegun("trailers", (known, _, request) => {
    if (isKept(known.answer.headers)) tell(known, request)
  })
}
