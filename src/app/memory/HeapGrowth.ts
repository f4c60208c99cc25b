/**
 * Bounds by how much the heap and the buffers outside of it grow until V8 collects all of it.
 *
 * By default V8 collects the whole heap after each 64 MiB of new buffers, regardless of the heap's own state: more than half of all CPU of a transfer.
 * So they are counted as growth of the heap.
 *
 * V8's own limit is a part of what it counts at the end of a collection, and it counts buffers then that it is about to free: the limit under load
 * was anything from 145 to 230 MB. So its limit is set far above, and a collection begins by what is really there.
 */
import { setFlagsFromString } from "node:v8"
import { type HeapLook, lookAtHeap, onHeapLook } from "./heapLooks.ts"
import { onWholeCollection } from "./wholeCollections.ts"

/** Figures of other values are in docs/architecture/speed.md. */
const grownBytes = 120 * 1024 * 1024
/** Where more is held: a collection takes as long as there is much in the heap. */
const leastGrowth = 1.4

const sum = ({ usedBytes, outsideBytes }: HeapLook): number => usedBytes + outsideBytes

export const boundHeapGrowth = (): void => {
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--heap-growing-percent=300")
  let isDue = false
  const setDue = (due: boolean) => {
    if (due !== isDue) setFlagsFromString(`--incremental-marking-hard-trigger=${due ? 1 : 0}`)
    isDue = due
  }
  /** The least since the last collection: buffers that it found unused are counted off only later. */
  let held = sum(lookAtHeap())
  onWholeCollection(() => {
    setDue(false)
    held = sum(lookAtHeap())
  })
  onHeapLook((look) => {
    const now = sum(look)
    held = Math.min(held, now)
    setDue(now >= Math.max(grownBytes, held * leastGrowth))
  })
}
