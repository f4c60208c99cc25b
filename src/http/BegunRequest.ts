/**
 * Which requests may have changed something: their change was sent on to whoever does it (`store/Change.ts`).
 *
 * Nobody who meets a fault after that may be told to simply send the request again.
 */
import type { IncomingMessage } from "node:http"

/** Whether each may be repeated blindly. */
const begun = new WeakMap<IncomingMessage, boolean>()

/** @param isRepeatable Sent twice, it is done once, or comes to the same (RFC 9110 section 9.2.2). */
export const noteBegun = (request: IncomingMessage, isRepeatable: boolean): void =>
  void begun.set(request, isRepeatable)

export const mayHaveChanged = (request: IncomingMessage): boolean => begun.has(request)

export const isRepeatable = (request: IncomingMessage): boolean => begun.get(request) ?? true

/**
 * What is said of a change that was begun and whose end nobody saw.
 *
 * @param what A clause: what happened meanwhile.
 */
export const outcomeUnknown = (what: string) => ({
  message: `${what} while this was being done: its outcome is unknown, and it may have been done. Look before you repeat it; with the same Idempotency-Key, where there is one, it is not done twice.`,
  details: { outcome: "unknown" as const }
})
