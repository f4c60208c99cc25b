/**
 * The rest of a request that was answered before it had come. Most clients read an answer only once they have sent everything, and a
 * connection that is cut while they send loses the answer for them.
 */
import type { IncomingMessage } from "node:http"
import { endSoon } from "./socketEnd.ts"

/** What a refused sender may still send; it costs us nothing but reading it. */
const restMaxBytes = 256 * 1024 * 1024
const restWithinMs = 60_000
/** One who sends nothing more has read the answer, or never will. */
const silentMs = 5000

/** Whose rest is being discarded. */
const discarded = new WeakSet<IncomingMessage>()
export const isDiscarded = (request: IncomingMessage): boolean => discarded.has(request)

/** Whose senders asked before they sent their body, and were not told to go on: nothing of it comes. */
const unasked = new WeakSet<IncomingMessage>()
export const noteUnasked = (request: IncomingMessage): void => void unasked.add(request)

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && Number(headers["content-length"]) !== 0)

/**
 * Lets the sender finish within bounds, and beyond them ends our side of the connection first. Does nothing when the request was read to
 * its end or is being read.
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
