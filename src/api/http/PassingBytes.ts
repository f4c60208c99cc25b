/**
 * Frees the memory of content that only passes through, without marking the whole heap.
 *
 * Every piece of content from a socket is a buffer outside the heap; V8 sees only a small object for it. By default V8 marks
 * the whole heap after each 64 MiB of such buffers, regardless of the heap's own state: more than half of all CPU of a transfer. So they
 * are counted as growth of the heap, the heap may grow to a multiple of its live size, and after every few MiB only the young
 * generation is collected, which frees most of them in milliseconds. Old buffers are collected once there are many.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const collectAfterBytes = 64 * 1024 * 1024
const outsideMaxBytes = 192 * 1024 * 1024
const lookEveryMs = 50
/** Interval while no content passes. */
const idleLookEveryMs = 500
const passingBytes = 1024 * 1024

export const collectPassingBytes = (): void => {
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--heap-growing-percent=300")
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as (options: { readonly type: "minor" | "major" }) => void
  // Much cheaper than `process.memoryUsage`, which also asks the kernel for the resident size.
  const outside = () => getHeapStatistics().external_memory
  let left = outside()
  let seen = left
  const look = () => {
    const now = outside()
    if (now - left >= collectAfterBytes) {
      collect({ type: "minor" })
      if (outside() > outsideMaxBytes) collect({ type: "major" })
      left = outside()
    } else left = Math.min(left, now)
    const isPassing = Math.abs(now - seen) > passingBytes
    seen = now
    setTimeout(look, isPassing ? lookEveryMs : idleLookEveryMs).unref()
  }
  look()
}
