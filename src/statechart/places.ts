/** The compact positions of a drawing; its machine provides the rest. All lengths as in a Drawing. */
import { edgesOf, innerOf, type Level } from "./edges.ts"
import type { Box, Description, Drawing, Point } from "./Statechart.ts"

type Corner = readonly [x: number, y: number, width: number, height: number]

/** States and edges are in the order of their description, which has their names. */
export interface Places extends Pick<Drawing, "width" | "height" | "anyState"> {
  readonly initial: ReadonlyArray<number>
  readonly states: ReadonlyArray<Corner>
  /** The path, and the label relative to its start. */
  readonly edges: ReadonlyArray<readonly [way: ReadonlyArray<number>, label: Corner]>
}

const corner = ({ x, y, width, height }: Box, from: Point = { x: 0, y: 0 }): Corner => [
  x - from.x,
  y - from.y,
  width,
  height
]

const box = ([x, y, width, height]: Corner, from: Point = { x: 0, y: 0 }): Box => ({
  x: from.x + x,
  y: from.y + y,
  width,
  height
})

/** The start, and then the lengths: down, right, down, and so on; a first length of 0 if the path begins to the right. Throws for other angles. */
const wayOf = (points: ReadonlyArray<Point>): ReadonlyArray<number> => {
  const [first, second] = points
  const isDown = first?.x === second?.x
  return points.flatMap((point, index) => {
    const before = points[index - 1]
    if (before === undefined) return isDown ? [point.x, point.y] : [point.x, point.y, 0]
    const [right, down] = [point.x - before.x, point.y - before.y]
    if ((isDown === (index % 2 === 0) ? down : right) !== 0)
      throw new Error("A line of a drawing goes neither down nor to the right")
    return [right + down]
  })
}

const pointsOf = ([x, y, ...lengths]: ReadonlyArray<number>): ReadonlyArray<Point> => {
  const points = [{ x: x!, y: y! }]
  for (const [index, length] of lengths.entries()) {
    if (length === 0 && index === 0) continue
    const last = points.at(-1)!
    points.push(index % 2 === 0 ? { x: last.x, y: last.y + length } : { x: last.x + length, y: last.y })
  }
  return points
}

export const placesOf = ({ width, height, anyState, initial, states, edges }: Drawing): Places => ({
  width,
  height,
  anyState,
  initial: wayOf(initial),
  states: states.map((state) => corner(state)),
  edges: edges.map(({ points, label }) => [wayOf(points), corner(label, points[0])])
})

/** Rebuilds the input of `placesOf`. */
export const drawingOf = (
  description: Pick<Description, "states" | "transitions">,
  { width, height, anyState, initial, states, edges }: Places,
  level: Level
): Drawing => {
  const inner = innerOf(description, level)
  return {
    width,
    height,
    anyState,
    initial: pointsOf(initial),
    states: description.states.map(({ name }, index) => ({
      name,
      ...box(states[index]!),
      inner: inner.get(name) ?? []
    })),
    edges: edgesOf(description, level).map((edge, index) => {
      const [way, label] = edges[index]!
      const points = pointsOf(way)
      return { ...edge, points, label: box(label, points[0]) }
    })
  }
}
