/** A defect that the owner of an actor met, as another process that asked it meets it. */
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import { ActorFailed, OwnerAway } from "./ActorError.ts"

/** By the owner. Why it failed is in the owner's log; the other process is told as much as its own log may say. */
export const toldDefect = (defect: unknown): ActorFailed =>
  new ActorFailed({ message: String(defect), passes: isDatabaseFault(defect) || defect instanceof OwnerAway })

/** By who asked it. */
export const metDefect = (actorId: string, { message, passes }: ActorFailed): OwnerAway | Error =>
  passes === true ? new OwnerAway({ actorId }) : new Error(message)
