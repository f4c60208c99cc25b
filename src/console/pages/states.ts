/** What the states mean to the pages, by the tags of the machines. The machines themselves are loaded only where they are drawn. */
import tags from "../../statechart/tags.json" with { type: "json" }

const isIn = (states: ReadonlyArray<string>): ((state: string) => boolean) => {
  const known = new Set(states)
  return (state) => known.has(state)
}

/** The Sandbox's runtime answers. */
export const isUp = isIn(tags.sandbox.up)
export const isAsleep = isIn(tags.sandbox.asleep)
/** A start changes something. */
export const isStartable = isIn(tags.sandbox.startable)
/** It runs, sleeps or boots: a stop changes something, and a use of it wakes it or waits for it. */
export const isInhabited = isIn(tags.sandbox.inhabited)
export const isVolumeless = isIn(tags.sandbox.volumeless)
/** Nothing but its record is left. */
export const isRemoved = isIn(tags.sandbox.removed)
export const isDeleted = isIn(tags.sandbox.gone)

export const isOpenOperation = isIn(tags.operation.open)
export const isWaitingOperation = isIn(tags.operation.waiting)
export const isEndedOperation = isIn(tags.operation.terminal)
/** A client ended it. */
export const isWithdrawnOperation = isIn(tags.operation.withdrawn)

export const isOpenPreview = isIn(tags.preview.open)
export const isEndedPreview = isIn(tags.preview.over)
export const isEndedAccess = isIn(tags.serviceAccess.over)
export const isEndedGrant = isIn(tags.connectionGrant.over)

/** A snapshot of its volume can be taken. */
export const isCapturable = isIn(tags.sandbox.capturable)
/** Sandboxes can be made of it. */
export const isUsableSnapshot = isIn(tags.snapshot.bootable)
export const isDeletedSnapshot = isIn(tags.snapshot.gone)

/** It is being built, pulled or deleted. */
export const isMovingImage = isIn(tags.image.moving)

export const isRemovedHost = isIn(tags.host.removed)

/** What the account uses is counted, and its credit limits nothing. */
export const isUnlimited = isIn(tags.wallet.unlimited)
