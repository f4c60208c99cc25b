/** A client's change that a guest is asked for, in the contract's terms. */
import { Effect, Predicate } from "effect"
import { SandboxUnavailable } from "../../schemas/Errors.ts"
import type { GuestUnavailable } from "../runtime/Guest.ts"
import { changeBegins } from "../store/Change.ts"

/** It was never asked, so nothing was done. */
export const unanswered = () =>
  new SandboxUnavailable({
    message: "The Sandbox does not answer. Try again; if that does not help, stop and start it.",
    details: { status: null }
  })

/** It was asked, and how that ended is not known: a caller that simply repeats it may do everything twice. */
const unknown = () =>
  new SandboxUnavailable({
    message:
      "The Sandbox did not say how this ended: its outcome is unknown, and it may have been done. Look before you repeat it.",
    details: { status: null, outcome: "unknown" }
  })

/** From now on it may have been done, whatever becomes of the answer; a guest that is lost on the way leaves the outcome unknown. */
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
