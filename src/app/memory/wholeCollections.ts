import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks"

const isWhole = (entry: PerformanceEntry): boolean =>
  "detail" in entry && (entry.detail as NodeGCPerformanceDetail).kind === constants.NODE_PERFORMANCE_GC_MAJOR

/** Calls back soon after each collection of V8's whole heap. */
export const onWholeCollection = (ended: () => void): void => {
  new PerformanceObserver((list) => {
    if (list.getEntries().some(isWhole)) ended()
  }).observe({ entryTypes: ["gc"] })
}
