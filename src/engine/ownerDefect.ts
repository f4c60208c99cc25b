/** Carries a defect of an actor's owner to the process that asked it. */
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import { ActorFailed, OwnerAway } from "./ActorError.ts"

/** On the owner's side. The owner's log has the details; the other process gets only what its own log may contain. */
export const toldDefect = (defect: unknown): ActorFailed =>
  new ActorFailed({ message: String(defect), passes: isDatabaseFault(defect) || defect instanceof OwnerAway })

/** On the asking side. */
export const metDefect = (actorId: string, { message, passes }: ActorFailed): OwnerAway | Error =>
  passes === true ? new OwnerAway({ actorId }) : new Error(message)
