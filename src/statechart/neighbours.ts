/**
 * One state with the states that lead to it and those that it leads to: a drawing as wide as the screen of a telephone, made in the browser.
 *
 * The states that lead to it stand above it and share one line, those that it leads to stand below and share another.
 */
import { measures } from "./measures.ts"
import type { Box, Drawing, DrawnEdge, DrawnState, Statechart } from "./Statechart.ts"

const margin = 8
const rowGap = 12
/** From a border to the line that rows share. */
const trunkInset = 20
const labelGap = 10

interface Row {
  readonly edge: DrawnEdge
  /** Null: any state. */
  readonly name: string | null
  readonly size: Pick<Box, "width" | "height">
}

const leadsFrom = ({ from, lines }: DrawnEdge, state: string) =>
  from === state ||
  (from === null && lines.some(({ transitions }) => transitions.some((id) => id.startsWith(`${state}.`))))

const rowsOf = ({ overview: { states, anyState, edges } }: Statechart, state: string) => {
  const sizeOf = (name: string | null) => (name === null ? anyState! : states.find((one) => one.name === name)!)
  const rowOf = (edge: DrawnEdge, name: string | null): Row => ({ edge, name, size: sizeOf(name) })
  const after = edges.filter((edge) => leadsFrom(edge, state)).map((edge) => rowOf(edge, edge.to))
  const before = edges
    .filter((edge) => edge.to === state && !after.some((row) => row.edge === edge))
    .map((edge) => rowOf(edge, edge.from))
  return { before, after }
}

const heightOf = ({ edge, size }: Row) => Math.max(size.height, edge.label.height)

const widthOf = ({ edge, size }: Row) => 2 * margin + trunkInset + 2 * labelGap + edge.label.width + size.width

const middleOf = (from: number, to: number, { width, height }: Pick<Box, "width" | "height">, y: number): Box => ({
  x: (from + to - width) / 2,
  y: y - height / 2,
  width,
  height
})

interface Placed {
  readonly row: Row
  readonly box: Box
  readonly edge: DrawnEdge
}

/** @param least Of the drawing's width, in user units. */
export const neighboursOf = (chart: Statechart, state: string, least: number): Drawing => {
  const { before, after } = rowsOf(chart, state)
  const own = chart.overview.states.find(({ name }) => name === state)!
  const width = Math.max(least, own.width + 2 * margin, ...[...before, ...after].map(widthOf))
  const isInitial = state === chart.initial
  let y = margin + (isInitial ? 2 * measures.dot + rowGap : 0)

  const into = width - margin - trunkInset
  const heights = before.reduce((sum, row) => sum + heightOf(row) + rowGap, 0)
  const ownBox: Box = { x: margin, y: y + heights, width: width - 2 * margin, height: own.height }
  const above = before.map((row): Placed => {
    const middle = y + heightOf(row) / 2
    y += heightOf(row) + rowGap
    const box = { ...row.size, x: margin, y: middle - row.size.height / 2 }
    const right = box.x + box.width
    const points = [
      { x: right, y: middle },
      { x: into, y: middle },
      { x: into, y: ownBox.y }
    ]
    return { row, box, edge: { ...row.edge, points, label: middleOf(right, into, row.edge.label, middle) } }
  })

  const out = margin + trunkInset
  y = ownBox.y + ownBox.height + rowGap
  const below = after.map((row): Placed => {
    const middle = y + heightOf(row) / 2
    y += heightOf(row) + rowGap
    const box = { ...row.size, x: width - margin - row.size.width, y: middle - row.size.height / 2 }
    const points = [
      { x: out, y: ownBox.y + ownBox.height },
      { x: out, y: middle },
      { x: box.x, y: middle }
    ]
    return { row, box, edge: { ...row.edge, points, label: middleOf(out, box.x, row.edge.label, middle) } }
  })

  const placed = [...above, ...below]
  const stateOf = (name: string, { x, y, width, height }: Box): DrawnState => ({ name, x, y, width, height, inner: [] })
  return {
    width,
    height: y - rowGap + margin,
    states: [
      stateOf(state, ownBox),
      ...placed.flatMap(({ row, box }) => (row.name === null ? [] : [stateOf(row.name, box)]))
    ],
    anyState: placed.find(({ row }) => row.name === null)?.box ?? null,
    edges: placed.map(({ edge }) => edge),
    initial: isInitial
      ? [
          { x: out, y: margin + 2 * measures.dot },
          { x: out, y: ownBox.y }
        ]
      : []
  }
}
