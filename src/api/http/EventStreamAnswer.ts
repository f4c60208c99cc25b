/** A response of server-sent events with backpressure: it pulls only as fast as its client reads. */
import { Readable } from "node:stream"
import { HttpServerResponse } from "effect/http"

export interface PulledStream {
  /** Calls back once with whole events, or with null at the end. It is called again only after it has called back. */
  readonly next: (then: (piece: Buffer | null) => void) => void
  readonly close: () => void
}

/** @param closed Called once, at any kind of end. */
export const eventStreamAnswer = (stream: PulledStream, closed: () => void): HttpServerResponse.HttpServerResponse => {
  const body = new Readable({
    // A piece is made when the one before it was taken: an unread stream leaves one in memory.
    highWaterMark: 0,
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
    // Tells buffering proxies (nginx) to pass this response on immediately.
    headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
  })
}
