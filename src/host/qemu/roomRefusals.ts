/** Turns what says that this host has no room into the refusal that the account reads. The figures are for the operator's log only. */
import { Effect } from "effect"
import type { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { saysDiskFull } from "../linux/diskRoom.ts"
import type { NoRoom } from "./HostRoom.ts"

/**
 * Refused are what admission has no room for, and what a full disk broke off: others may take the admitted room meanwhile.
 *
 * @param what Completes "… was refused."
 */
export const refusingWithoutRoom =
  (what: string, refusal: () => RuntimeRefused) =>
  <A>(
    act: Effect.Effect<A, NoRoom | RuntimeRefused | RuntimeUnavailable>
  ): Effect.Effect<A, RuntimeRefused | RuntimeUnavailable> => {
    const refused = (detail: string) =>
      Effect.andThen(Effect.logWarning(`${what} was refused. ${detail}`), Effect.fail(refusal()))
    return Effect.catch(act, (fault): Effect.Effect<never, RuntimeRefused | RuntimeUnavailable> => {
      switch (fault._tag) {
        case "NoRoom":
          return refused(fault.detail)
        case "RuntimeUnavailable":
          return saysDiskFull(fault.message) ? refused(fault.message) : Effect.fail(fault)
        case "RuntimeRefused":
          return Effect.fail(fault)
      }
    })
  }
