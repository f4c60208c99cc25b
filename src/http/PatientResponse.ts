/**
 * An answer that does not take the connection from a sender who has not finished yet.
 *
 * Effect's server ends the connection half a second after such an answer, and node:http does at once: both lose it for a client that reads
 * only after it has sent everything. Where the rest of the body is discarded with bounds of its own (discardRest.ts), neither is to happen.
 */
import { type IncomingMessage, ServerResponse } from "node:http"
import { isDiscarded } from "../gateway/discardRest.ts"
import { endSoon } from "../gateway/socketEnd.ts"

/** What node:http's own listener for the end of an answer goes by: whether it is the connection's last. */
interface Internals {
  _last: boolean
}

export class PatientResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
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
