import { quantile } from "./BenchService.ts"

/** A line of a table. @param took Milliseconds */
export const timesRow = (what: string, took: ReadonlyArray<number>) => ({
  what,
  "p50 ms": Number(quantile(took, 0.5).toFixed(1)),
  "p99 ms": Number(quantile(took, 0.99).toFixed(1)),
  "least ms": Number(Math.min(...took).toFixed(1))
})
