/** The geometry of a bar chart of daily amounts: pure, in SVG user units. */

export const chart = { width: 720, height: 220, left: 64, right: 8, top: 12, bottom: 26 }

const barMaxWidth = 48

export interface Bar {
  readonly key: string
  readonly x: number
  readonly width: number
  readonly y: number
  readonly height: number
}

export interface Tick {
  readonly value: number
  readonly y: number
}

/** The smallest of 1, 2, 2.5, 5 times a power of ten of which four steps reach `most`. */
const stepOf = (most: number): number => {
  const rough = Math.max(most, 4) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough)!
}

/** @param values By key, in order; not negative. */
export const barsOf = (values: ReadonlyArray<readonly [key: string, value: number]>) => {
  const step = stepOf(Math.max(0, ...values.map(([, value]) => value)))
  const plotHeight = chart.height - chart.top - chart.bottom
  const plotWidth = chart.width - chart.left - chart.right
  const yOf = (value: number): number => chart.top + plotHeight * (1 - value / (4 * step))
  const slot = plotWidth / Math.max(1, values.length)
  const width = Math.min(slot * 0.7, barMaxWidth)
  const bars = values.map(([key, value], index): Bar => {
    const y = yOf(Math.max(0, value))
    return {
      key,
      x: chart.left + (index + 0.5) * slot - width / 2,
      width,
      y,
      height: chart.height - chart.bottom - y
    }
  })
  const ticks = [0, 1, 2, 3, 4].map((index): Tick => ({ value: index * step, y: yOf(index * step) }))
  return { bars, ticks }
}

/** Each UTC day from one instant to another, as YYYY-MM-DD. */
export const daysBetween = (from: string, to: string): ReadonlyArray<string> => {
  const days: Array<string> = []
  const end = Date.parse(to)
  for (let at = Date.parse(`${from.slice(0, 10)}T00:00:00Z`); at < end; at += 86_400_000) {
    days.push(new Date(at).toISOString().slice(0, 10))
  }
  return days
}
