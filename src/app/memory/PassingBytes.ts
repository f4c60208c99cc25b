/**
 * Frees the memory of content that only passes through, without marking the whole heap.
 *
 * Every piece of content from a socket is a buffer outside the heap; V8 sees only a small object for it, so many of them come before it collects its
 * young generation by itself. That frees most of them, in milliseconds.
 */
import { collectGarbage } from "./garbageCollector.ts"
import { lookAtHeap, onHeapLook } from "./heapLooks.ts"

const collectAfterBytes = 16 * 1024 * 1024

export const collectPassingBytes = (): void => {
  let left = lookAtHeap().outsideBytes
  onHeapLook(({ outsideBytes }) => {
    if (outsideBytes - left >= collectAfterBytes) {
      collectGarbage({ type: "minor" })
      left = lookAtHeap().outsideBytes
    } else left = Math.min(left, outsideBytes)
  })
}
