/**
 * Discards the rest of a request that was answered early. Most clients read a response only after they have sent everything, and
 * lose it if the connection is cut meanwhile.
 */
import type { IncomingMessage } from "node:http"
import { endSoon } from "./socketEnd.ts"

/** How much a refused client may still send; it costs only the reading. */
const restMaxBytes = 256 * 1024 * 1024
const restWithinMs = 60_000
/** A client that is silent for so long has read the response, or never will. */
const silentMs = 5000

/** Requests whose rest is being discarded. */
const discarded = new WeakSet<IncomingMessage>()
export const isDiscarded = (request: IncomingMessage): boolean => discarded.has(request)

/** Requests with `Expect: 100-continue` that were refused: their body never arrives. */
const unasked = new WeakSet<IncomingMessage>()
export const noteUnasked = (request: IncomingMessage): void => void unasked.add(request)

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && Number(headers["content-length"]) !== 0)

/**
 * Lets the client finish within limits; beyond them it first ends the server's side of the connection. Does nothing if the request was
 * read completely or is being read.
 */
export const discardRest = (request: IncomingMessage): void => {
  if (request.complete || request.listenerCount("data") > 0 || !hasBody(request) || unasked.has(request)) return
  discarded.add(request)
  let left = restMaxBytes
  let isEnding = false
  const end = (): void => {
    if (isEnding || request.complete) return
    isEnding = true
    endSoon(request.socket)
  }
  const whole = setTimeout(end, restWithinMs).unref()
  const silent = setTimeout(end, silentMs).unref()
  request.once("close", () => {
    clearTimeout(whole)
    clearTimeout(silent)
  })
  request.on("data", (chunk: Buffer) => {
    silent.refresh()
    left -= chunk.length
    if (left < 0) end()
  })
  request.on("error", () => {})
  request.resume()
}
