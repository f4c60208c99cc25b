/** What a Sandbox is told whose host is lost, by whoever finds it so. */

import { hostLostCode, type sandboxMachine } from "../../machines/sandbox.ts"
import { publicText } from "../../schemas/PublicText.ts"
import type { EventOf } from "../actor/machineTypes.ts"

export interface LostHost {
  /** gone: the operator took it out of the fleet; its volumes do not come back. */
  readonly is: "lost" | "gone"
  /** Epoch milliseconds of its last beat. */
  readonly seenAt: number
}

export const isLost = (standing: { readonly is: string } | LostHost): standing is LostHost =>
  standing.is === "lost" || standing.is === "gone"

const messages = {
  lost: publicText`The host of this Sandbox was lost. Its volume is there, and can be used again once that host returns.`,
  gone: publicText`The host of this Sandbox was taken out of service, and its volume with it.`
}

export const hostLostMessage = ({ is }: Pick<LostHost, "is">): string => messages[is]

/** @param generation Of which it is known that it was there. */
export const hostLost = (generation: number, { is, seenAt }: LostHost): EventOf<typeof sandboxMachine> => ({
  type: "HOST_LOST",
  generation,
  reason: { code: hostLostCode, message: messages[is] },
  seenAt
})
