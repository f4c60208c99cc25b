/**
 * Gives memory back that content only passed through, without marking the whole heap for it.
 *
 * Every piece of content that comes from a socket is a buffer outside the heap, known to V8 by a small object only. Left to itself V8 marks
 * the whole heap whenever 64 MiB of such buffers have come, whatever the heap's own state: more than half of all CPU of a transfer. So they
 * are counted as a part of the heap's growth, the heap may grow to a multiple of what lives in it, and after every so many MiB the young
 * objects alone are collected, which gives most of them back in milliseconds. What has grown old meanwhile is collected once it is much.
 */
import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const collectAfterBytes = 64 * 1024 * 1024
const outsideMaxBytes = 192 * 1024 * 1024
const lookEveryMs = 50
/** While nothing passes. */
const idleLookEveryMs = 500
const passingBytes = 1024 * 1024

export const collectPassingBytes = (): void => {
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--heap-growing-percent=300")
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as (options: { readonly type: "minor" | "major" }) => void
  // Much cheaper than `process.memoryUsage`, which asks the kernel for the resident size as well.
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
