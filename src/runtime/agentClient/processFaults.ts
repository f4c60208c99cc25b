/** Faults of process calls: the agent's refusals as errors of `GuestProcesses`. */
import { GuestUnavailable, ProcessUnknown, SpawnRefused } from "../Guest.ts"
import { protocolFault, type RouteRefused, unexpected } from "./answers.ts"
import { ProtocolBreach } from "./heldToShape.ts"

export type ProcessRefusal = SpawnRefused | ProcessUnknown | GuestUnavailable

/** The agent's refusals as the interface's errors. */
export const faultOf = (refused: RouteRefused, key: string): ProcessRefusal => {
  switch (refused.code) {
    case "CWD_NOT_FOUND":
    case "CWD_NOT_A_DIRECTORY":
    case "TOO_MANY_PROCESSES":
    case "ARGUMENTS_TOO_LONG":
    case "SHELL_MISSING":
      return new SpawnRefused({ code: refused.code, message: refused.message })
    case "PROCESS_UNKNOWN":
      return new ProcessUnknown({ key })
    default:
      return unexpected(refused)
  }
}

/** An unknown key where that is no valid answer: the command was ended before it started. */
const neverStarted = () => new GuestUnavailable({ message: "The Sandbox has ended the command before it began" })
export const startFault = <E>(fault: E | ProcessUnknown): Exclude<E, ProcessUnknown> | GuestUnavailable =>
  fault instanceof ProcessUnknown ? neverStarted() : (fault as Exclude<E, ProcessUnknown>)
export const knownFault = <E>(fault: E | SpawnRefused): Exclude<E, SpawnRefused> | GuestUnavailable =>
  fault instanceof SpawnRefused
    ? protocolFault(new ProtocolBreach("code must be one of the route's"))
    : (fault as Exclude<E, SpawnRefused>)
