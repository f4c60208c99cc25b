/** A line chart over time, drawn by uPlot; a table beside it has the same data. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import { type Column, isolatedIn } from "./series.ts"

export interface ChartLine {
  readonly label: string
  readonly column: Column
}

interface Drawn {
  readonly title: string
  /** Epoch seconds. */
  readonly times: ReadonlyArray<number>
  readonly lines: ReadonlyArray<ChartLine>
  readonly format: (value: number) => string
  /** Bytes are divided by powers of two. */
  readonly isBinary: boolean
  /** Index of the marked point; null: none. */
  readonly pointed: number | null
  readonly point: (index: number | null) => void
}

const height = 160
const colours = ["--accent", "--taken"]
const dashes = [[], [6, 3]]
const binarySteps = Array.from({ length: 50 }, (_, power) => 2 ** power)
const daySeconds = 86_400

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" })
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" })

const notMeasured = "not measured"

/** From the present theme. */
const colour = (name: string) => (plot: uPlot) => getComputedStyle(plot.root).getPropertyValue(name).trim()

const optionsOf = (
  { lines, format, isBinary }: Pick<Drawn, "lines" | "format" | "isBinary">,
  width: number,
  told: (index: number | null) => void
): uPlot.Options => {
  const axis = {
    stroke: colour("--soft"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 }
  }
  return {
    width,
    height,
    legend: { show: false },
    select: { show: false, left: 0, top: 0, width: 0, height: 0 },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_, _least, most) => [0, most > 0 ? most * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        values: (_, splits, _axis, _space, step) =>
          splits.map((at) => (step >= daySeconds ? day : clock).format(at * 1000))
      },
      {
        ...axis,
        size: 84,
        ...(isBinary ? { incrs: binarySteps } : {}),
        values: (_, splits) => splits.map(format)
      }
    ],
    series: [
      {},
      ...lines.map(
        ({ label, column }, index): uPlot.Series => ({
          label,
          stroke: colour(colours[index]!),
          dash: dashes[index]!,
          width: 1.75,
          spanGaps: false,
          points: { show: false, size: 5, fill: colour(colours[index]!), filter: () => [...isolatedIn(column)] }
        })
      )
    ],
    hooks: { setCursor: [(plot) => told(plot.cursor.idx ?? null)] }
  }
}

export const LineChart = ({ title, times, lines, format, isBinary, pointed, point }: Drawn) => {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const told = useRef(point)
  told.current = point

  useLayoutEffect(() => {
    const place = host.current!
    const made = new uPlot(
      optionsOf({ lines, format, isBinary }, place.clientWidth, (index) => told.current(index)),
      [[...times], ...lines.map(({ column }) => [...column])],
      place
    )
    plot.current = made
    const resized = new ResizeObserver(() => {
      if (place.clientWidth > 0 && place.clientWidth !== made.width) made.setSize({ width: place.clientWidth, height })
    })
    resized.observe(place)
    const theme = matchMedia("(prefers-color-scheme: dark)")
    const redraw = () => made.redraw(false)
    theme.addEventListener("change", redraw)
    return () => {
      plot.current = null
      theme.removeEventListener("change", redraw)
      resized.disconnect()
      made.destroy()
    }
  }, [times, lines, format, isBinary])

  useEffect(() => {
    const shown = plot.current
    if (shown === null || (shown.cursor.idx ?? null) === pointed) return
    const left = pointed === null ? -10 : shown.valToPos(times[pointed]!, "x")
    shown.setCursor({ left, top: 0 }, false)
  }, [pointed, times])

  return (
    <figure class="chart-pane">
      <figcaption>
        <h3>{title}</h3>
        <p class="readout">
          {lines.map(({ label, column }, index) => {
            const value = pointed === null ? null : (column[pointed] ?? null)
            return (
              <span key={label} class={`line-${index}`}>
                {lines.length > 1 ? `${label} ` : ""}
                <strong>{value === null ? notMeasured : format(value)}</strong>
              </span>
            )
          })}
        </p>
      </figcaption>
      <div ref={host} class="plot" aria-hidden="true" />
    </figure>
  )
}
