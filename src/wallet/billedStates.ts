/** What the states of a Sandbox or of a snapshot mean for its cost, by the tags of its machine. */
import { sandboxMachine } from "../../machines/sandbox.ts"
import { snapshotMachine } from "../../machines/snapshot.ts"
import { isTagged, taggedStates } from "../engine/taggedStates.ts"

/** Its volume costs. */
export const countedStates = taggedStates(sandboxMachine, "counted")
/** Processes may be there, or return. */
export const inhabitedStates = taggedStates(sandboxMachine, "inhabited")
/** Its runtime answers, and costs. */
export const isUp = isTagged(sandboxMachine, "up")
/** It costs nothing any more. */
export const isGone = isTagged(sandboxMachine, "gone")
/** A snapshot whose image is on its host, and costs once it was ready. */
export const storedStates = taggedStates(snapshotMachine, "stored")
export const isStored = isTagged(snapshotMachine, "stored")
/** A snapshot costs from this state on. */
export const isReady = isTagged(snapshotMachine, "bootable")
