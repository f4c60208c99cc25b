/** Samples as a chart's columns. A missing measurement is null, and interrupts the line. */
import type { SandboxAnalytics } from "../../../../../schemas/Analytics.ts"

export type Sample = SandboxAnalytics["resources"]["samples"][number]
export type Measured = Exclude<keyof Sample, "at">
export type Column = ReadonlyArray<number | null>

export const columnOf = (samples: ReadonlyArray<Sample>, measured: Measured): Column =>
  samples.map((sample) => sample[measured])

/** Isolated points, which a line would not show. */
export const isolatedIn = (column: Column): ReadonlyArray<number> =>
  column.flatMap((value, at) =>
    value !== null && (column[at - 1] ?? null) === null && (column[at + 1] ?? null) === null ? [at] : []
  )

const measures: ReadonlyArray<Measured> = [
  "cpuSeconds",
  "memoryBytes",
  "volumeBytes",
  "networkRxBytes",
  "networkTxBytes"
]

/** The last sample with any measurement; null: none. */
export const newestMeasured = (samples: ReadonlyArray<Sample>): number | null => {
  const at = samples.findLastIndex((sample) => measures.some((measured) => sample[measured] !== null))
  return at === -1 ? null : at
}
