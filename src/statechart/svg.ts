/**
 * A machine's diagram as one SVG file: with its own background, light or dark by the reader's preference, and without external resources.
 *
 * Labels lie above lines: a label has the background's colour and interrupts its own line.
 */
import { measures } from "./measures.ts"
import { pathOf } from "./path.ts"
import { anyStateText, type Row, rowsOf, stateRows } from "./rows.ts"
import type { Box, ChartState, DrawnEdge, DrawnState, Statechart } from "./Statechart.ts"

const fontStack = `ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace`

const style = `
svg { --paper: #ffffff; --frame: #d1d9e0; --ink: #1f2328; --soft: #59636e; --line: #818b98; --state: #f6f8fa; --border: #818b98; --start: #0969da; --startfill: #ddf4ff; --guard: #8250df; --command: #1a7f37; --ended: #eef0f2 }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --frame: #3d444d; --ink: #f0f6fc; --soft: #9198a1; --line: #656c76; --state: #1c232c; --border: #656c76; --start: #4493f8; --startfill: #12233f; --guard: #ab7df8; --command: #3fb950; --ended: #151b23 }
}
text { font-family: ${fontStack}; font-size: ${measures.row.fontSize}px; fill: var(--ink); white-space: pre }
.paper { fill: var(--paper); stroke: var(--frame) }
.edge { fill: none; stroke: var(--line); stroke-width: 1.4; marker-end: url(#arrow) }
.head { fill: var(--line) }
.dot { fill: var(--ink) }
.label { fill: var(--paper) }
.guard { fill: var(--guard) }
.command { fill: var(--command) }
.state { fill: var(--state); stroke: var(--border); stroke-width: 1.4 }
.initial { fill: var(--startfill); stroke: var(--start) }
.final { fill: var(--ended) }
.inner { fill: none; stroke: var(--border); stroke-width: 1 }
.name { font-size: ${measures.state.fontSize}px; font-weight: 600; text-anchor: middle }
.any { fill: var(--paper); stroke: var(--line); stroke-dasharray: 4 3 }
.anyname { fill: var(--soft); text-anchor: middle; font-style: italic }
.rule { stroke: var(--border); stroke-width: 0.7; opacity: 0.6 }
.when { fill: var(--soft) }
`

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const rowSpans = (row: Row): string =>
  row
    .map(({ role, text }) => (role === "event" ? escaped(text) : `<tspan class="${role}">${escaped(text)}</tspan>`))
    .join(" ")

/** Rows of text from `top` down. */
const rowTexts = (rows: ReadonlyArray<Row>, x: number, top: number): ReadonlyArray<string> =>
  rows.map(
    (row, index) =>
      `<text x="${x}" y="${top + index * measures.row.height + measures.row.baseline}">${rowSpans(row)}</text>`
  )

const line = ({ id, points }: DrawnEdge) => `<path class="edge" data-edge="${escaped(id)}" d="${pathOf(points)}"/>`

const label = ({ id, label: { x, y, width, height }, lines }: DrawnEdge) => {
  const { paddingX, paddingY, radius } = measures.label
  return [
    `<g data-label="${escaped(id)}">`,
    `<rect class="label" x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}"/>`,
    ...rowTexts(lines.flatMap(rowsOf), x + paddingX, y + paddingY),
    "</g>"
  ].join("")
}

/** A final state has two borders. */
const borders = ({ isFinal }: ChartState, { x, y, width, height }: DrawnState, isInitial: boolean) => {
  const { radius } = measures.state
  const outer = `<rect class="state${isInitial ? " initial" : ""}${isFinal ? " final" : ""}" x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}"/>`
  const gap = 3.5
  return isFinal
    ? `${outer}<rect class="inner" x="${x + gap}" y="${y + gap}" width="${width - 2 * gap}" height="${height - 2 * gap}" rx="${radius - gap}"/>`
    : outer
}

const stateGroup = (state: ChartState, drawn: DrawnState, isInitial: boolean) => {
  const { x, y, width } = drawn
  const { paddingX, paddingY, nameHeight, ruleHeight, fontSize } = measures.state
  const written = [
    `<text class="name" x="${x + width / 2}" y="${y + paddingY + fontSize}">${escaped(state.name)}</text>`
  ]
  let top = y + paddingY + nameHeight
  for (const rows of [stateRows(state), drawn.inner.flatMap(rowsOf)]) {
    if (rows.length === 0) continue
    const ruleY = top + 2
    written.push(`<line class="rule" x1="${x + 8}" y1="${ruleY}" x2="${x + width - 8}" y2="${ruleY}"/>`)
    top += ruleHeight
    written.push(...rowTexts(rows, x + paddingX, top))
    top += rows.length * measures.row.height
  }
  return [
    `<g data-state="${escaped(state.name)}"><title>${escaped(state.description)}</title>`,
    borders(state, drawn, isInitial),
    ...written,
    "</g>"
  ].join("")
}

const anyState = ({ x, y, width, height }: Box) =>
  [
    `<rect class="any" x="${x}" y="${y}" width="${width}" height="${height}" rx="${height / 2}"/>`,
    `<text class="anyname" x="${x + width / 2}" y="${y + measures.state.paddingY + measures.row.baseline}">${anyStateText}</text>`
  ].join("")

export const svgOf = ({ kind, description, initial, states, drawing }: Omit<Statechart, "overview">): string => {
  const { width, height } = drawing
  const first = drawing.initial[0]!
  const boxes = new Map(drawing.states.map((box) => [box.name, box]))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(kind)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<style>${style}</style>`,
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0.5L8 4L0 7.5Z"/></marker></defs>`,
    `<rect class="paper" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>`,
    `<path class="edge" d="${pathOf(drawing.initial)}"/>`,
    `<circle class="dot" cx="${first.x}" cy="${first.y - measures.dot}" r="${measures.dot}"/>`,
    ...drawing.edges.map(line),
    ...(drawing.anyState === null ? [] : [anyState(drawing.anyState)]),
    ...states.map((state) => stateGroup(state, boxes.get(state.name)!, state.name === initial)),
    ...drawing.edges.map(label),
    "</svg>",
    ""
  ].join("\n")
}
