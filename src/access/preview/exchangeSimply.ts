/** A request without a body and its plain answer, over a kept connection: see Upstream.ts. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import type { RawHeaders } from "./forwardedHeaders.ts"
import { responseHeaders } from "./forwardedHeaders.ts"
import { type SimpleAnswer, simpleAnswerIn } from "./simpleAnswer.ts"
import type { Upstream, Upstreams } from "./Upstream.ts"

export interface Exchange {
  /** The visitor has gone, or is cut. */
  readonly destroy: () => void
}

export interface ExchangeOptions {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly upstreams: Upstreams
  readonly path: string
  readonly headers: RawHeaders
  /** The answer is not a plain one: node:http reads it from this connection, on which the request was sent. */
  readonly onOther: (replayed: Duplex) => void
  /** No answer came. `wasKept`: on a connection that the program may have been closing. */
  readonly onFailure: (cause: Error, wasKept: boolean) => void
}

const requestHead = (method: string, path: string, headers: RawHeaders): string => {
  let text = `${method} ${path} HTTP/1.1\r\n`
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${text}Connection: keep-alive\r\n\r\n`
}

const writeHead = (response: ServerResponse, answer: SimpleAnswer): void => {
  const { statusCode, statusMessage, length } = answer
  response.sendDate = false
  const framing = length === null || statusCode === 204 ? "none" : { length }
  response.writeHead(statusCode, statusMessage, responseHeaders(answer, framing))
}

/** A whole answer up to this length is sent as text: in one write with its head, and together with others (`PatientResponse`). */
const TEXT_BYTES_MAX = 4096

/** Passes the body on, in place, and frees the connection at its end. */
class Body {
  readonly #options: ExchangeOptions
  readonly #upstream: Upstream
  readonly #answer: SimpleAnswer
  #left: number
  isOver = false

  constructor(options: ExchangeOptions, upstream: Upstream, answer: SimpleAnswer) {
    this.#options = options
    this.#upstream = upstream
    this.#answer = answer
    this.#left = answer.bodyBytes
    if (answer.bodyBytes > 0) options.response.on("drain", () => this.isOver || upstream.goOn())
  }

  take(piece: Buffer): boolean {
    const { request, response, upstreams } = this.#options
    const part = piece.length > this.#left ? piece.subarray(0, this.#left) : piece
    this.#left -= part.length
    if (this.#left === 0) {
      this.isOver = true
      if (part.length === this.#answer.bodyBytes && part.length <= TEXT_BYTES_MAX) {
        response.end(part.toString("latin1"), "latin1")
      } else response.end(part)
      // More than the answer: the program's next answer could be taken for another request's.
      if (this.#answer.staysOpen && part.length === piece.length) upstreams.free(this.#upstream)
      else this.#upstream.destroy()
    } else {
      const hasRoom = response.write(part)
      // node:http would hold it back until the end of this turn, and then its memory could not be used again.
      request.socket.uncork()
      if (!hasRoom && response.writableLength > 0) this.#upstream.hold()
    }
    return request.socket.writableLength === 0 && response.writableLength === 0
  }
}

export const exchangeSimply = (options: ExchangeOptions): Exchange => {
  const { request, response, upstreams, path, headers, onOther, onFailure } = options
  const { method = "GET" } = request
  let upstream: Upstream | null = null
  let body: Body | null = null
  let isGivenUp = false

  const begin = (piece: Buffer): boolean => {
    const answer = simpleAnswerIn(piece, method === "HEAD")
    if (answer === null) {
      const other = upstream!
      upstream = null
      onOther(other.replayed(piece))
      return true
    }
    writeHead(response, answer)
    body = new Body(options, upstream!, answer)
    if (piece.length > answer.headBytes || answer.bodyBytes === 0) return body.take(piece.subarray(answer.headBytes))
    response.flushHeaders()
    return true
  }
  const broke = (cause: Error) => {
    if (isGivenUp || body?.isOver) return
    const wasKept = upstream?.isReused ?? false
    upstream = null
    onFailure(cause, wasKept)
  }
  const ask = (on: Upstream) => {
    upstream = on
    on.ask(requestHead(method, path, headers), (piece) => body?.take(piece) ?? begin(piece), broke)
  }

  const kept = upstreams.kept()
  if (kept !== null) ask(kept)
  else
    upstreams.opened().then(
      (made) => (isGivenUp ? upstreams.free(made) : ask(made)),
      (cause: Error) => isGivenUp || onFailure(cause, false)
    )
  return {
    destroy: () => {
      isGivenUp = true
      if (!body?.isOver) upstream?.destroy()
    }
  }
}
