/** Runs a client's change in a guest, and maps its failures to the contract's errors. */
import { Effect, Predicate } from "effect"
import { SandboxUnavailable } from "../../schemas/Errors.ts"
import type { GuestUnavailable } from "../runtime/Guest.ts"
import { changeBegins } from "../store/Change.ts"

/** The request never reached the guest, so nothing was done. */
export const unanswered = () =>
  new SandboxUnavailable({
    message: "The Sandbox does not answer. Try again; if that does not help, stop and start it.",
    details: { status: null }
  })

/** The request reached the guest, but its result is unknown: a blind repetition may do everything twice. */
const unknown = () =>
  new SandboxUnavailable({
    message:
      "The Sandbox did not say how this ended: its outcome is unknown, and it may have been done. Look before you repeat it.",
    details: { status: null, outcome: "unknown" }
  })

/** Marks the point of no return: from here the change may apply even if the response is lost. If the guest is lost after it, the outcome is unknown. */
export const guestChange = <A, E, R>(
  change: Effect.Effect<A, E | GuestUnavailable, R>
): Effect.Effect<A, Exclude<E, GuestUnavailable> | SandboxUnavailable, R> =>
  Effect.andThen(
    changeBegins,
    Effect.mapError(change, (fault) =>
      isUnavailable(fault)
        ? fault.fault === "unreached"
          ? unanswered()
          : unknown()
        : (fault as Exclude<E, GuestUnavailable>)
    )
  )

const isUnavailable = (fault: unknown): fault is GuestUnavailable => Predicate.isTagged(fault, "GuestUnavailable")
