/**
 * Gives memory back that content only passed through.
 *
 * Every piece of content that comes from a socket is a buffer outside the heap, known to V8 by a small object only. Left to itself V8 marks
 * the whole heap whenever 64 MiB of such buffers have come, whatever the heap's own state: 8 MiB through the service cost 30 ms of CPU for
 * that alone, half of everything. Told to count them as a part of the heap's growth (the flag), it lets hundreds of MiB gather instead.
 * Most of them die young, so a collection of the young objects only, after every so many MiB, gives them back in a millisecond; what has
 * grown old meanwhile is collected once it is much.
 */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const collectAfterBytes = 48 * 1024 * 1024
const outsideMaxBytes = 128 * 1024 * 1024
const lookEveryMs = 50

export const collectPassingBytes = (): void => {
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as (options: { readonly type: "minor" | "major" }) => void
  const outside = () => process.memoryUsage().arrayBuffers
  let left = outside()
  setInterval(() => {
    const now = outside()
    if (now - left < collectAfterBytes) {
      left = Math.min(left, now)
      return
    }
    collect({ type: "minor" })
    if (outside() > outsideMaxBytes) collect({ type: "major" })
    left = outside()
  }, lookEveryMs).unref()
}
