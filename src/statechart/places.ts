/** A drawing without what its machine says itself: where everything is, in few bytes. All lengths as in a Drawing. */
import { edgesOf, innerOf } from "./edges.ts"
import type { Box, Description, Drawing, Point } from "./Statechart.ts"

type Corner = readonly [x: number, y: number, width: number, height: number]

export interface Places extends Pick<Drawing, "width" | "height" | "anyState" | "initial"> {
  /** By state. */
  readonly states: Readonly<Record<string, Corner>>
  /** By edge: x and y of each of its points, and its label. */
  readonly edges: Readonly<Record<string, readonly [points: ReadonlyArray<number>, label: Corner]>>
}

const corner = ({ x, y, width, height }: Box): Corner => [x, y, width, height]

const box = ([x, y, width, height]: Corner): Box => ({ x, y, width, height })

const pointsOf = (flat: ReadonlyArray<number>): ReadonlyArray<Point> =>
  flat.flatMap((x, index) => (index % 2 === 0 ? [{ x, y: flat[index + 1]! }] : []))

export const placesOf = ({ states, edges, ...rest }: Drawing): Places => ({
  ...rest,
  states: Object.fromEntries(states.map((state) => [state.name, corner(state)])),
  edges: Object.fromEntries(
    edges.map(({ id, points, label }) => [id, [points.flatMap(({ x, y }) => [x, y]), corner(label)]])
  )
})

/** The drawing that `placesOf` was made of. */
export const drawingOf = (
  description: Pick<Description, "states" | "transitions">,
  { states, edges, ...rest }: Places
): Drawing => {
  const inner = innerOf(description)
  return {
    ...rest,
    states: Object.entries(states).map(([name, at]) => ({ name, ...box(at), inner: inner.get(name) ?? [] })),
    edges: edgesOf(description).map((edge) => {
      const [points, label] = edges[edge.id]!
      return { ...edge, points: pointsOf(points), label: box(label) }
    })
  }
}
