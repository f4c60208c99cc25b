/**
 * Which requests may have changed something: their change was sent on to whoever does it (`store/Change.ts`).
 *
 * Nobody who meets a fault after that may be told to simply send the request again.
 */
import type { IncomingMessage } from "node:http"
import { ServiceUnavailable } from "../../schemas/Errors.ts"

const begun = new WeakSet<IncomingMessage>()

export const noteBegun = (request: IncomingMessage): void => void begun.add(request)

export const mayHaveChanged = (request: IncomingMessage): boolean => begun.has(request)

/**
 * What is said of a change that was begun and whose end nobody saw.
 *
 * @param what A clause: what happened meanwhile.
 */
export const outcomeUnknown = (what: string) => ({
  message: `${what} while this was being done: its outcome is unknown, and it may have been done. Look before you repeat it; with the same Idempotency-Key, where there is one, it is not done twice.`,
  details: { outcome: "unknown" as const }
})

/** Another process has what this is about, and none answered for it. */
export const ownerAway = (wasBegun: boolean) =>
  new ServiceUnavailable(
    wasBegun
      ? outcomeUnknown("A part of the service was being taken over")
      : { message: "A part of the service is being taken over. Send the request again." }
  )
