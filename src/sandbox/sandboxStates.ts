/** What the states of a Sandbox mean for others, from the tags of its machine. */
import { sandboxMachine } from "../../machines/sandbox.ts"
import { taggedStates } from "../actor/taggedStates.ts"

/** It counts toward limits and quotas. */
export const countedStates = taggedStates(sandboxMachine, "counted")
/** Nothing of it is on the host, or shall be. */
export const removedStates = taggedStates(sandboxMachine, "removed")
/** Its host has a runtime of its generation. */
export const aliveStates = taggedStates(sandboxMachine, "alive")
/** Processes of its generation may be there, or come back. */
export const inhabitedStates = taggedStates(sandboxMachine, "inhabited")
/** It has none, and its host shall have none. Its lifetime may delete it. */
export const runtimelessStates = taggedStates(sandboxMachine, "runtimeless")
/** Its runtime was seen to end. */
export const endedStates = taggedStates(sandboxMachine, "ended")
/** No start of it is under way, nor will be unless somebody asks. */
export const notStartingStates = taggedStates(sandboxMachine, "notStarting")
