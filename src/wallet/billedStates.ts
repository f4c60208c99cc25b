/** What the states of a Sandbox or of a snapshot mean for its cost, by the tags of its machine. */
import { imageMachine } from "../../machines/image.ts"
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
const isStoredSnapshot = isTagged(snapshotMachine, "stored")
const isStoredImage = isTagged(imageMachine, "stored")
const isReadySnapshot = isTagged(snapshotMachine, "bootable")
const isReadyImage = isTagged(imageMachine, "bootable")

/** A snapshot or an image that is on its host, and costs once it was ready. The two machines mean the same by a name that both have. */
export const storedStates = [
  ...new Set([...taggedStates(snapshotMachine, "stored"), ...taggedStates(imageMachine, "stored")])
]
export const isStored = (state: string): boolean => isStoredSnapshot(state) || isStoredImage(state)
/** A snapshot or an image costs from this state on. */
export const isReady = (state: string): boolean => isReadySnapshot(state) || isReadyImage(state)
