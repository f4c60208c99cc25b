/**
 * Bounds by how much the heap and the buffers outside of it grow until V8 collects all of it.
 *
 * By default V8 collects the whole heap after each 64 MiB of new buffers, regardless of the heap's own state: more than half of all CPU of a transfer.
 * So they are counted as growth of the heap. V8 sets its limit after each collection, as a part of what was left; this makes that part so large that
 * both together grow to about the same size, whether the service holds little or much.
 */
import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks"
import { getHeapStatistics, setFlagsFromString } from "node:v8"

/** Figures of other values are in docs/architecture/speed.md. */
const grownBytes = 160 * 1024 * 1024
/** Where more than that is held already: a collection takes as long as there is much in the heap. */
const leastPercent = 40
const mostPercent = 300

const setGrowth = (): void => {
  const { used_heap_size: used, external_memory: outside } = getHeapStatistics()
  const percent = Math.round(100 * (grownBytes / (used + outside) - 1))
  setFlagsFromString(`--heap-growing-percent=${Math.min(mostPercent, Math.max(leastPercent, percent))}`)
}

const isWhole = (entry: PerformanceEntry): boolean =>
  "detail" in entry && (entry.detail as NodeGCPerformanceDetail).kind === constants.NODE_PERFORMANCE_GC_MAJOR

export const boundHeapGrowth = (): void => {
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setGrowth()
  new PerformanceObserver((list) => {
    if (list.getEntries().some(isWhole)) setGrowth()
  }).observe({ entryTypes: ["gc"] })
}
