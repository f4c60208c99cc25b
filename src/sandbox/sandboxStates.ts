/** The meaning of a Sandbox's states for other code, by the tags of its machine. */
import { sandboxMachine } from "../../machines/sandbox.ts"
import { taggedStates } from "../actor/taggedStates.ts"

/** It counts toward limits and quotas. */
export const countedStates = taggedStates(sandboxMachine, "counted")
/** Its host has nothing of it, and must have nothing. */
export const removedStates = taggedStates(sandboxMachine, "removed")
/** Its host has a runtime of its generation. */
export const aliveStates = taggedStates(sandboxMachine, "alive")
/** Processes of its generation may be there, or return. */
export const inhabitedStates = taggedStates(sandboxMachine, "inhabited")
/** It has no runtime, and must have none. Its lifetime may delete it. */
export const runtimelessStates = taggedStates(sandboxMachine, "runtimeless")
/** The end of its runtime was observed. */
export const endedStates = taggedStates(sandboxMachine, "ended")
/** No start is in progress or planned. */
export const notStartingStates = taggedStates(sandboxMachine, "notStarting")
