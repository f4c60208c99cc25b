/**
 * An answer that does not take the connection from a sender who has not finished yet.
 *
 * Effect's server ends the connection half a second after such an answer, and node:http does at once: both lose it for a client that reads
 * only after it has sent everything. Where the rest of the body is discarded with bounds of its own (discardRest.ts), neither is to happen.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import { isDiscarded } from "../gateway/discardRest.ts"
import { endSoon } from "../gateway/socketEnd.ts"

/** node:http's own state of an answer. */
interface Internals {
  /** Whether it is the connection's last: its listener for the end of an answer goes by it. */
  _last: boolean
  /** Whether the head was handed to the connection; until then no byte of the body was either. */
  readonly _headerSent: boolean
  /** As the head has it. */
  readonly _contentLength: number | null
}

export class PatientResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /**
   * Effect's server has node:http count what is written, and what is counted goes out in two pieces, of which the last is empty: a third of
   * what sending costs. A text that is the whole body is as long as the head says or not; that is looked at here.
   */
  override end(...given: ReadonlyArray<unknown>): this {
    const [text] = given
    const answer = this as unknown as Internals
    if (
      typeof text === "string" &&
      given.length === 1 &&
      !answer._headerSent &&
      answer._contentLength === Buffer.byteLength(text)
    ) {
      this.strictContentLength = false
    }
    return super.end(...(given as Parameters<ServerResponse["end"]>))
  }

  /** The listener that Effect's server puts before node's own. */
  override prependListener(event: string | symbol, listener: (...args: Array<never>) => void): this {
    if (event !== "finish") return super.prependListener(event, listener as () => void)
    return super.prependListener(event, () => {
      if (isDiscarded(this.req)) this.#wait()
      else (listener as () => void)()
    })
  }

  #wait(): void {
    const answer = this as unknown as Internals
    const { req } = this
    if (!answer._last || req.complete) return
    answer._last = false
    req.once("end", () => endSoon(req.socket))
  }
}
