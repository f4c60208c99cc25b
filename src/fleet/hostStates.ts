/** The meaning of a host's states for other code, by the tags of its machine. */
import { hostMachine } from "../../machines/host.ts"
import { isTagged, taggedStates } from "../engine/taggedStates.ts"

/** The host gets new Sandboxes. */
export const placeableStates = taggedStates(hostMachine, "placeable")
/** Nothing that runs there is believed to run, and nobody waits for it. */
export const absentStates = taggedStates(hostMachine, "absent")
/** Nobody knows of it now, and soon somebody will. */
export const silentStates = taggedStates(hostMachine, "silent")
/** The operator took it out of the fleet. */
export const removedHostStates = taggedStates(hostMachine, "removed")
export const isAbsent = isTagged(hostMachine, "absent")
export const emptiedStates = taggedStates(hostMachine, "emptied")
/** Its Sandboxes can be started. */
export const startableStates = taggedStates(hostMachine, "startable")
export const isPlaceable = isTagged(hostMachine, "placeable")
export const isStartable = isTagged(hostMachine, "startable")
/** Its Sandboxes are stopped, and none can be started. */
export const isEmptied = isTagged(hostMachine, "emptied")
/** It is heard of: that its process joins once more is no news. */
export const isHeard = isTagged(hostMachine, "heard")
export const isRemovedHost = isTagged(hostMachine, "removed")
/** Its Sandboxes can be started, and it gets no new ones. */
export const isClosed = (state: string | null): boolean => isStartable(state) && !isPlaceable(state)

/** That of a host without an actor: it is still to join. */
export const firstHostState = hostMachine.config.initial as string
