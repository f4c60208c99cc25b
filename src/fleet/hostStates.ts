/** The meaning of a host's states for other code, by the tags of its machine. */
import { hostMachine } from "../../machines/host.ts"
import { taggedStates } from "../actor/taggedStates.ts"

/** The host gets new Sandboxes. */
export const placeableStates = taggedStates(hostMachine, "placeable")
/** Sandboxes of the host can be started. */
export const startableStates = taggedStates(hostMachine, "startable")
/** The host's Sandboxes count as stopped, and no code waits for it. */
export const absentStates = taggedStates(hostMachine, "absent")
/** The host beats: another join of its process is no news. */
export const heardStates: ReadonlyArray<string> = ["joining", "ready", "cordoned", "draining"]
/** The host's state is unknown now, but soon known. */
export const silentStates: ReadonlyArray<string> = ["joining", "suspect"]
