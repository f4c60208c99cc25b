/**
 * A response that keeps the connection open for a client that is still sending its body, and that sends small answers together.
 *
 * Effect's server closes the connection half a second after such a response, and node:http immediately. A client that reads only after it
 * has sent everything would lose the response. While discardRest.ts discards the rest of the body within its limits, neither may happen.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import { isDiscarded } from "../../access/gateway/discardRest.ts"
import { endSoon } from "../../access/gateway/socketEnd.ts"
import { atTurnsEnd } from "../../access/gateway/turnsEnd.ts"

/** Internal state of node:http's response. */
interface Internals {
  /** Whether the response is the connection's last: node's listener for the end of a response uses it. */
  _last: boolean
  /** Whether the head was written to the connection; no byte of the body precedes it. */
  readonly _headerSent: boolean
  /** From the head. */
  readonly _contentLength: number | null
}

export class PatientResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /**
   * Effect's server makes node:http count the written bytes. Counted text goes out in two writes, of which the second is empty: a third of
   * the cost of sending. For a body in one text the length is checked here instead, and it is sent with other answers.
   */
  override end(...given: ReadonlyArray<unknown>): this {
    const [text, encoding = "utf8"] = given as readonly [unknown, BufferEncoding?]
    const answer = this as unknown as Internals
    if (
      typeof text === "string" &&
      typeof encoding === "string" &&
      given.length <= 2 &&
      !answer._headerSent &&
      answer._contentLength === Buffer.byteLength(text, encoding)
    ) {
      this.strictContentLength = false
      atTurnsEnd(() => super.end(text, encoding))
      return this
    }
    return super.end(...(given as Parameters<ServerResponse["end"]>))
  }

  /** Intercepts the listener that Effect's server puts before node's own. */
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
