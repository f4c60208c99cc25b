/**
 * Gives pages that V8's heap does not need any more back to the system.
 *
 * V8 keeps each page that its heap has ever needed for its next use, without a bound, and counts them in none of its statistics. It frees them
 * in a collection that is to reduce memory, and makes such a one only while little runs. So here one collection in some seconds is made such a one:
 * it also moves more objects together and lets the young generation shrink.
 */
import { setFlagsFromString } from "node:v8"
import { onWholeCollection } from "./wholeCollections.ts"

/** @param everyMs At least so long from one such collection to the next. */
export const giveBackPooledPages = (everyMs = 5_000): void => {
  let reducedAt = performance.now()
  let isReducing = false
  onWholeCollection(() => {
    const now = performance.now()
    if (isReducing) reducedAt = now
    const reduces = now - reducedAt >= everyMs
    // V8 decides by it when it begins a collection, so it stands until the next one has ended.
    if (reduces !== isReducing) setFlagsFromString(reduces ? "--optimize-for-size" : "--no-optimize-for-size")
    isReducing = reduces
  })
}
