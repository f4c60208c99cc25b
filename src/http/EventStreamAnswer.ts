/** An answer of server-sent events: as fast as its client reads, and not faster. */
import { Readable } from "node:stream"
import { HttpServerResponse } from "effect/http"

export interface PulledStream {
  /** Calls back once with whole events; with null when the stream is over. Not again before it has called back. */
  readonly next: (then: (piece: Buffer | null) => void) => void
  readonly close: () => void
}

/** What waits to be sent is one piece of the stream and what the socket holds. */
const heldMaxBytes = 16 * 1024

/** @param closed Called once, however it ends. */
export const eventStreamAnswer = (stream: PulledStream, closed: () => void): HttpServerResponse.HttpServerResponse => {
  const body = new Readable({
    highWaterMark: heldMaxBytes,
    read() {
      stream.next((piece) => void this.push(piece))
    },
    destroy(fault, done) {
      stream.close()
      closed()
      done(fault)
    }
  })
  return HttpServerResponse.raw(body, {
    contentType: "text/event-stream",
    // Proxies that gather answers (nginx) let this one through.
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
  })
}
