/** What a program answers, on its way to a visitor. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import { type Framing, framingOf } from "./Framing.ts"
import { responseHeaders, trailersOf } from "./forwardedHeaders.ts"

const pairsOf = (raw: ReadonlyArray<string>): Array<[string, string]> => {
  const found: Array<[string, string]> = []
  for (let at = 0; at + 1 < raw.length; at += 2) found.push([raw[at]!, raw[at + 1]!])
  return found
}

/** The parser takes any three digits for a status, and the writer does not; nor can a body go on whose coding is not known. */
export const passesOn = (answer: IncomingMessage): boolean => {
  const { statusCode = 0 } = answer
  return statusCode >= 200 && statusCode <= 999 && framingOf(answer) !== null
}

/** Of an answer on its way to a visitor. The length of one that has no body by its nature is still told. */
export const answerFraming = (answer: IncomingMessage, request: IncomingMessage): Framing => {
  const framing = framingOf(answer) ?? "none"
  const hasNoBody = request.method === "HEAD" || answer.statusCode === 204 || answer.statusCode === 304
  if (framing === "chunked") return request.httpVersion === "1.0" || hasNoBody ? "none" : framing
  return answer.statusCode === 204 ? "none" : framing
}

/**
 * The path as the program gets it, or null. A whole URL means its own host, whatever Host says (RFC 9112 section 3.2.2): only one
 * that says the same goes on.
 */
export const pathOf = ({ url = "/", headers, method }: IncomingMessage): string | null => {
  if (url.startsWith("/") || (url === "*" && method === "OPTIONS")) return url
  const [, authority, path] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  if (authority === undefined || authority.toLowerCase() !== headers.host?.toLowerCase()) return null
  return path!.startsWith("/") ? path! : `/${path}`
}

/** The program's own reason, if it can be written. */
export const reasonOf = ({ statusCode = 0, statusMessage = "" }: IncomingMessage): string =>
  /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : (STATUS_CODES[statusCode] ?? "")

export const notAnswered = () => new Error("The program's answer is none to this request.")

/** Hints are advice: what node:http would not write is left out. */
export const writeHints = (response: ServerResponse, raw: ReadonlyArray<string>): void => {
  const link = pairsOf(raw).flatMap(([name, value]) =>
    // One header may hold several links.
    name.toLowerCase() === "link" ? value.split(/,\s*(?=<)/) : []
  )
  try {
    if (link.length > 0) response.writeEarlyHints({ link })
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
  }
}

export const relay = (answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void => {
  const framing = answerFraming(answer, request)
  response.sendDate = false
  response.writeHead(answer.statusCode ?? 502, reasonOf(answer), responseHeaders(answer, framing))
  // A short body goes with the head. A stream of events may send nothing more for long, so the head waits no longer than this turn.
  setImmediate(() => {
    if (!response.writableEnded) response.flushHeaders()
  })
  answer.pipe(response, { end: false })
  answer.once("end", () => {
    const trailers = framing === "chunked" ? trailersOf(answer) : []
    if (trailers.length > 0) response.addTrailers(trailers)
    response.end()
  })
  answer.once("close", () => {
    if (!answer.complete) response.destroy()
  })
  answer.on("error", () => response.destroy())
}
