/** An edge's points as the `d` of an SVG path with round corners. */
import type { Point } from "./Statechart.ts"

const radius = 8

const towards = (from: Point, to: Point, length: number): Point => {
  const whole = Math.hypot(to.x - from.x, to.y - from.y)
  if (whole === 0) return from
  const share = Math.min(length, whole / 2) / whole
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

const at = ({ x, y }: Point) => `${Math.round(x * 100) / 100} ${Math.round(y * 100) / 100}`

export const pathOf = (points: ReadonlyArray<Point>): string =>
  points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]]
      if (before === undefined) return `M${at(point)}`
      if (after === undefined) return `L${at(point)}`
      return `L${at(towards(point, before, radius))}Q${at(point)} ${at(towards(point, after, radius))}`
    })
    .join("")
