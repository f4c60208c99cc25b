/** What the states of a Sandbox mean for its cost, by the tags of its machine. */
import { sandboxMachine } from "../../machines/sandbox.ts"
import { isTagged, taggedStates } from "../engine/taggedStates.ts"

/** Its volume costs. */
export const countedStates = taggedStates(sandboxMachine, "counted")
/** Processes may be there, or return. */
export const inhabitedStates = taggedStates(sandboxMachine, "inhabited")
/** Its runtime answers, and costs. */
export const isUp = isTagged(sandboxMachine, "up")
/** It costs nothing any more. */
export const isGone = isTagged(sandboxMachine, "gone")
