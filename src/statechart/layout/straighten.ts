/**
 * Removes small steps next to the ends of an edge: ELK gives a label and a state's border their own middles, which may
 * differ by a few units, and a line between them that steps aside by so little looks like a mistake.
 */
import type { Point } from "../Statechart.ts"

/** Shorter steps are removed; in SVG user units. Ends of edges at one border are further apart than that. */
const stepMax = 8

const isVertical = (a: Point, b: Point) => a.x === b.x

/** At the first point, which moves along the border that it is on. */
const straightenStart = (points: ReadonlyArray<Point>): ReadonlyArray<Point> => {
  const [first, second, third, fourth] = points
  if (first === undefined || second === undefined || third === undefined || fourth === undefined) return points
  const isStep =
    isVertical(first, second) &&
    !isVertical(second, third) &&
    isVertical(third, fourth) &&
    Math.abs(second.x - third.x) < stepMax &&
    // A hairpin is no step.
    Math.sign(second.y - first.y) === Math.sign(fourth.y - third.y)
  return isStep ? [{ x: third.x, y: first.y }, ...points.slice(3)] : points
}

export const straighten = (points: ReadonlyArray<Point>): ReadonlyArray<Point> =>
  straightenStart(straightenStart(points).toReversed()).toReversed()
