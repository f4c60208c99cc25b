/** The meaning of a host's states for other code, by the tags of its machine. */
import { hostMachine } from "../../machines/host.ts"
import { taggedStates } from "../actor/taggedStates.ts"

/** The host gets new Sandboxes. */
export const placeableStates = taggedStates(hostMachine, "placeable")
/** Its Sandboxes can be started. */
export const startableStates = taggedStates(hostMachine, "startable")
/** Nothing that runs there is believed to run, and nobody waits for it. */
export const absentStates = taggedStates(hostMachine, "absent")
/** It is heard of: that its process joins once more is no news. */
export const heardStates: ReadonlyArray<string> = ["joining", "ready", "cordoned", "draining"]
/** Nobody knows of it now, and soon somebody will. */
export const silentStates: ReadonlyArray<string> = ["joining", "suspect"]
