/**
 * Frees the memory of content that only passes through, without marking the whole heap.
 *
 * Every piece of content from a socket is a buffer outside the heap; V8 sees only a small object for it, so many of them come before it collects its
 * young generation by itself. That frees most of them, in milliseconds.
 */
import { getHeapStatistics } from "node:v8"
import { collectGarbage } from "./garbageCollector.ts"

const collectAfterBytes = 16 * 1024 * 1024
const lookEveryMs = 50
/** Interval while no content passes. */
const idleLookEveryMs = 500
const passingBytes = 1024 * 1024

export const collectPassingBytes = (): void => {
  // Much cheaper than `process.memoryUsage`, which also asks the kernel for the resident size.
  const outside = () => getHeapStatistics().external_memory
  let left = outside()
  let seen = left
  const look = () => {
    const now = outside()
    if (now - left >= collectAfterBytes) {
      collectGarbage({ type: "minor" })
      left = outside()
    } else left = Math.min(left, now)
    const isPassing = Math.abs(now - seen) > passingBytes
    seen = now
    setTimeout(look, isPassing ? lookEveryMs : idleLookEveryMs).unref()
  }
  look()
}
