/** The event for a Sandbox whose host is lost. */

import { hostLostCode, type sandboxMachine } from "../../machines/sandbox.ts"
import { publicText } from "../../schemas/PublicText.ts"
import type { EventOf } from "../engine/machineTypes.ts"

export interface LostHost {
  /** gone: the operator removed it from the fleet; its volumes are lost. */
  readonly is: "lost" | "gone"
  /** Epoch milliseconds of its last beat. */
  readonly seenAt: number
}

export const isLost = (standing: { readonly is: string } | LostHost): standing is LostHost =>
  standing.is === "lost" || standing.is === "gone"

const messages = {
  lost: publicText`The host of this Sandbox was lost. Its volume is kept there, and can be used again once that host returns.`,
  gone: publicText`The host of this Sandbox was taken out of service, and its volume with it.`
}

export const hostLostMessage = ({ is }: Pick<LostHost, "is">): string => messages[is]

/** @param generation A generation known to have been there. */
export const hostLost = (generation: number, { is, seenAt }: LostHost): EventOf<typeof sandboxMachine> => ({
  type: "HOST_LOST",
  generation,
  reason: { code: hostLostCode, message: messages[is] },
  seenAt
})
