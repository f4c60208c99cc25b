/** The events by which an operation is lost. */
import { Effect } from "effect"
import { lostReason, type operationMachine } from "../../machines/operation.ts"
import { committedReason, publicText } from "../../schemas/PublicText.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { GuestUnavailable } from "../runtime/Guest.ts"
import { sandboxTagsOf } from "../sandbox/sandboxStates.ts"

type OperationEvent = EventOf<typeof operationMachine>

/** @param status Of the Sandbox; null: there is none. */
export const lost = (status: string | null): OperationEvent => ({
  type: "LOST",
  reason: committedReason(lostReason(sandboxTagsOf(status)))
})

export const forgotten: OperationEvent = {
  type: "LOST",
  reason: {
    code: "OUTCOME_UNKNOWN",
    message: publicText`The Sandbox no longer knows the command; its outcome is unknown.`
  }
}

export const disbelieved: OperationEvent = {
  type: "LOST",
  reason: {
    code: "OUTCOME_UNKNOWN",
    message: publicText`The Sandbox's agent violated its protocol; the command's outcome is unknown.`
  }
}

/** A retry after a violation of the protocol would go on as long as the Sandbox runs. */
export const unlessDisbelieved = <A, E, R, B>(
  effect: Effect.Effect<A, E, R>,
  otherwise: B
): Effect.Effect<A | B, E, R> =>
  Effect.catchIf(
    effect,
    (error) => error instanceof GuestUnavailable && error.fault === "protocol",
    () => Effect.succeed(otherwise)
  )
