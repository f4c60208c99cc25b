/** Overlaps and crossings in a drawing. */
import type { Box, Point } from "./Statechart.ts"

export type Segment = readonly [Point, Point]

export const segmentsOf = (points: ReadonlyArray<Point>): ReadonlyArray<Segment> =>
  points.slice(1).map((point, index) => [points[index]!, point] as const)

/** Boxes that only touch do not overlap. */
export const overlap = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

const spanOf = ([a, b]: Segment): Box => ({
  x: Math.min(a.x, b.x),
  y: Math.min(a.y, b.y),
  width: Math.abs(a.x - b.x),
  height: Math.abs(a.y - b.y)
})

const isHorizontal = ([a, b]: Segment) => a.y === b.y

/** True if a horizontal or vertical segment passes through a box, not only along its border. */
export const passes = (segment: Segment, box: Box): boolean => {
  const { x, y, width, height } = spanOf(segment)
  return x < box.x + box.width && x + width > box.x && y < box.y + box.height && y + height > box.y
}

/** True if a horizontal and a vertical segment cross, or two parallel ones overlap. */
export const cross = (a: Segment, b: Segment): boolean => {
  if (isHorizontal(a) === isHorizontal(b)) {
    const [one, other] = [spanOf(a), spanOf(b)]
    return isHorizontal(a)
      ? one.y === other.y && one.x < other.x + other.width && other.x < one.x + one.width
      : one.x === other.x && one.y < other.y + other.height && other.y < one.y + one.height
  }
  const [across, down] = isHorizontal(a) ? [spanOf(a), spanOf(b)] : [spanOf(b), spanOf(a)]
  return down.x > across.x && down.x < across.x + across.width && across.y > down.y && across.y < down.y + down.height
}
