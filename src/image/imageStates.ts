/** The meaning of an image's states for other code, by the tags of its machine. */
import { imageMachine } from "../../machines/image.ts"
import { isTagged, taggedStates } from "../engine/taggedStates.ts"

/** It counts toward the account's number of images. */
export const countedImageStates = taggedStates(imageMachine, "counted")
/** A host may have an archive for it. */
export const archivedImageStates = [
  ...new Set([...taggedStates(imageMachine, "built"), ...taggedStates(imageMachine, "awaited")])
]
/** The registry is asked for it. */
export const awaitedImageStates = taggedStates(imageMachine, "awaited")
/** A host has it for Sandboxes. */
export const usableImageStates = taggedStates(imageMachine, "bootable")
/** It was not made, or no host has it any more. */
export const failedImageStates = taggedStates(imageMachine, "rootless")
/** Nothing but its record is left. */
export const isImageGone = isTagged(imageMachine, "gone")
