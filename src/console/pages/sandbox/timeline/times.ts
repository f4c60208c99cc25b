/** Formats instants and durations for the timeline. */
import type { Scale } from "./scale.ts"

const units: ReadonlyArray<readonly [ms: number, unit: string]> = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"]
]

/** The largest unit, rounded down: for marks with little room. */
export const shortly = (ms: number): string => {
  const found = units.find(([length]) => ms >= length)
  return found === undefined ? `${Math.round(ms)} ms` : `${Math.floor(ms / found[0])} ${found[1]}`
}

/** The two largest units. */
export const spelled = (ms: number): string => {
  const index = units.findIndex(([length]) => ms >= length)
  if (index === -1) return `${Math.round(ms)} ms`
  const [length, unit] = units[index]!
  const whole = `${Math.floor(ms / length)} ${unit}`
  const rest = ms % length
  if (index === units.length - 1) return rest < 1 ? whole : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const [next, nextUnit] = units[index + 1]!
  return rest < next ? whole : `${whole} ${Math.floor(rest / next)} ${nextUnit}`
}

const formats = {
  day: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }),
  minute: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }),
  second: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  millisecond: new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3
  }),
  dayAndSecond: new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3
  })
}

/** In this browser's time zone, with day and milliseconds. */
export const exactly = (at: number): string => formats.dayAndSecond.format(at)

const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...[1, 2, 7, 14, 30, 90, 180, 365].map((days) => days * 86_400_000)
]

export interface AxisMark {
  readonly x: number
  readonly text: string
}

const apart = 92

const formatOf = (step: number, isLong: boolean): Intl.DateTimeFormat =>
  step >= 86_400_000
    ? formats.day
    : step < 1000
      ? formats.millisecond
      : step < 60_000 || !isLong
        ? formats.second
        : formats.minute

/** Marks at round instants where there is room, in the pieces of normal scale; a piece without a round instant is marked at its start. */
export const axisOf = ({ from, to, pieces, width }: Scale): ReadonlyArray<AxisMark> => {
  const marks: Array<AxisMark> = []
  const isLong = to - from > 3_600_000
  let free = 0
  let day = to - from > 86_400_000 ? "" : formats.day.format(from)
  const mark = (x: number, at: number, format: Intl.DateTimeFormat): void => {
    if (x < free || x > width - apart / 2) return
    const today = formats.day.format(at)
    // The day is shown where it changes, and at the first mark of several.
    const text = format === formats.day || day === today ? format.format(at) : `${today} ${format.format(at)}`
    day = today
    marks.push({ x, text })
    free = x + apart * (text.length > 10 ? 1.4 : 1)
  }
  for (const piece of pieces) {
    if (piece.isGap || piece.width <= 0) continue
    const perPixel = (piece.to - piece.from) / piece.width
    const step = steps.find((one) => one >= perPixel * apart) ?? steps[steps.length - 1]!
    const format = formatOf(step, isLong)
    const zone = step < 60_000 ? 0 : new Date(piece.from).getTimezoneOffset() * 60_000
    mark(piece.x, piece.from, perPixel < 10 ? formats.millisecond : formats.second)
    for (let at = Math.ceil((piece.from - zone) / step) * step + zone; at < piece.to; at += step) {
      mark(piece.x + (at - piece.from) / perPixel, at, format)
    }
  }
  return marks
}
