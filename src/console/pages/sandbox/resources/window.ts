/** The selectable time ranges, with bucket sizes for a line of a few hundred points. */

export interface AskedWindow {
  readonly from: string
  readonly to: string
  readonly resolutionSeconds: number
}

const hour = 3600
const day = 24 * hour

interface Range {
  readonly label: string
  /** Null: its whole life. */
  readonly seconds: number | null
  readonly resolutionSeconds: number
}

export const ranges = {
  hour: { label: "1 h", seconds: hour, resolutionSeconds: 60 },
  hours: { label: "6 h", seconds: 6 * hour, resolutionSeconds: 60 },
  day: { label: "24 h", seconds: day, resolutionSeconds: 120 },
  week: { label: "7 d", seconds: 7 * day, resolutionSeconds: 900 },
  all: { label: "All", seconds: null, resolutionSeconds: 60 }
} as const satisfies Readonly<Record<string, Range>>

export type RangeName = keyof typeof ranges

const bucketsMax = 1000
const resolutionMaxSeconds = day

/** A minute, or the fewest whole minutes with which the range fits. */
const resolutionOf = (seconds: number): number =>
  Math.min(resolutionMaxSeconds, Math.max(60, Math.ceil(seconds / bucketsMax / 60) * 60))

/**
 * Ends now, or with the Sandbox; begins at a whole bucket, so that repeated requests have the same buckets.
 *
 * @param now Epoch milliseconds.
 */
export const windowOf = (
  name: RangeName,
  { createdAt, deletedAt }: { readonly createdAt: string; readonly deletedAt: string | null },
  now: number
): AskedWindow => {
  const range: Range = ranges[name]
  const end = deletedAt === null ? now : Date.parse(deletedAt) + 1
  const seconds = range.seconds ?? Math.max(1, Math.ceil((end - Date.parse(createdAt)) / 1000))
  const resolutionSeconds = range.seconds === null ? resolutionOf(seconds) : range.resolutionSeconds
  const bucketMs = resolutionSeconds * 1000
  const from = Math.floor((end - seconds * 1000) / bucketMs) * bucketMs
  return { from: new Date(from).toISOString(), to: new Date(end).toISOString(), resolutionSeconds }
}
