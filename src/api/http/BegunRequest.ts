/**
 * Requests that may have changed something: they passed the point of no return (`store/Change.ts`).
 *
 * After it, an error must not tell the client to simply send the request again.
 */
import type { IncomingMessage } from "node:http"
import { ServiceUnavailable } from "../../../schemas/Errors.ts"

const begun = new WeakSet<IncomingMessage>()

export const noteBegun = (request: IncomingMessage): void => void begun.add(request)

export const mayHaveChanged = (request: IncomingMessage): boolean => begun.has(request)

/**
 * The error for a change that was begun and whose result is unknown.
 *
 * @param what A clause: what interrupted it.
 */
export const outcomeUnknown = (what: string) => ({
  message: `${what} while this was being done: its outcome is unknown, and it may have been done. Look before you repeat it; with the same Idempotency-Key, where there is one, it is not done twice.`,
  details: { outcome: "unknown" as const }
})

/** The process that owns the resource did not answer. */
export const ownerAway = (wasBegun: boolean) =>
  new ServiceUnavailable(
    wasBegun
      ? outcomeUnknown("A part of the service was being taken over")
      : { message: "A part of the service is being taken over. Send the request again." }
  )
