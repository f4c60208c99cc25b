/** The meaning of a Sandbox's states for other code, by the tags of its machine. */
import { sandboxMachine } from "../../machines/sandbox.ts"
import { isTagged, taggedStates } from "../engine/taggedStates.ts"

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
/** The volume is not there, or not for long. */
export const volumelessStates = taggedStates(sandboxMachine, "volumeless")
/** Its runtime answers. */
export const upStates = taggedStates(sandboxMachine, "up")
export const isUp = isTagged(sandboxMachine, "up")
export const isAsleep = isTagged(sandboxMachine, "asleep")
/** It is asleep or boots: a use of it waits for its runtime. */
export const isAwaited = isTagged(sandboxMachine, "awaited")
/** Clients are told that there is no such Sandbox. */
export const goneStates = taggedStates(sandboxMachine, "gone")
export const isGone = isTagged(sandboxMachine, "gone")
/** A snapshot of its volume can be taken. */
export const isCapturable = isTagged(sandboxMachine, "capturable")
/** The same with its memory and processes. */
export const hasMemory = (status: string): boolean => isCapturable(status) && (isUp(status) || isAsleep(status))
/** A runtime is there, or can be there again. */
export const isRestartable = isTagged(sandboxMachine, "restartable")
/** A use of it waits for its runtime: of one that has never run, for its first boot. */
export const awaitedStates = taggedStates(sandboxMachine, "awaited")
/** Its volume is being replaced. */
export const isRestoring = isTagged(sandboxMachine, "restoring")
/** Only a deletion is possible. */
export const isBroken = isTagged(sandboxMachine, "broken")
export const isRemoved = isTagged(sandboxMachine, "removed")

/** Null: no Sandbox, which has no tags. */
export const sandboxTagsOf = (status: string | null): ReadonlyArray<string> =>
  status === null ? [] : (sandboxMachine.states[status as keyof typeof sandboxMachine.states]?.tags ?? [])
