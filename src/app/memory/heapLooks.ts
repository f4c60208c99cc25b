/** Looks at V8's heap: often while it changes or content passes, and now and then in a service that rests. */
import { getHeapStatistics } from "node:v8"

/** The heap and the buffers outside of it, in bytes. */
export interface HeapLook {
  readonly usedBytes: number
  readonly outsideBytes: number
}

const lookEveryMs = 50
const idleLookEveryMs = 500
const changedBytes = 1024 * 1024

/** Much cheaper than `process.memoryUsage`, which also asks the kernel for the resident size. */
export const lookAtHeap = (): HeapLook => {
  const { used_heap_size: usedBytes, external_memory: outsideBytes } = getHeapStatistics()
  return { usedBytes, outsideBytes }
}

export const onHeapLook = (looked: (look: HeapLook) => void): void => {
  let seen = lookAtHeap()
  const look = () => {
    const now = lookAtHeap()
    looked(now)
    const changed = Math.max(Math.abs(now.usedBytes - seen.usedBytes), Math.abs(now.outsideBytes - seen.outsideBytes))
    seen = now
    setTimeout(look, changed > changedBytes ? lookEveryMs : idleLookEveryMs).unref()
  }
  look()
}
