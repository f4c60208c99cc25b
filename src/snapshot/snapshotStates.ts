/** The meaning of a snapshot's states for other code, by the tags of its machine. */
import { snapshotMachine } from "../../machines/snapshot.ts"
import { isTagged, taggedStates } from "../engine/taggedStates.ts"

/** It counts toward the account's number of snapshots. */
export const countedSnapshotStates = taggedStates(snapshotMachine, "counted")
/** Its host has the image. */
export const usableSnapshotStates = taggedStates(snapshotMachine, "bootable")
export const isSnapshotUsable = isTagged(snapshotMachine, "bootable")
/** Its host makes the image. */
export const isSnapshotAwaited = isTagged(snapshotMachine, "awaited")
/** Its deletion is committed. */
export const isSnapshotRemoved = isTagged(snapshotMachine, "removed")
/** Nothing but its record is left. */
export const isSnapshotGone = isTagged(snapshotMachine, "gone")
/** What its host has of it is removed. */
export const isSnapshotImageless = isTagged(snapshotMachine, "imageless")
