/** The drawing itself: states, edges and their labels, with highlights for one moment of an actor. Each can be pointed at and focused. */

import type { Level } from "../../../statechart/edges.ts"
import { edgeRole, type Lit } from "../../../statechart/lit.ts"
import { measures } from "../../../statechart/measures.ts"
import { pathOf } from "../../../statechart/path.ts"
import { anyStateText, type Row, rowsOf, stateRows } from "../../../statechart/rows.ts"
import type { Box, Drawing, DrawnEdge, DrawnLine, DrawnState, Statechart } from "../../../statechart/Statechart.ts"
import type { Thing } from "./About.tsx"

const classes = (...names: ReadonlyArray<string | false>): string => names.filter(Boolean).join(" ")

const Rows = ({ rows, x, top }: { rows: ReadonlyArray<Row>; x: number; top: number }) =>
  rows.map((row, index) => (
    <text key={index} x={x} y={top + index * measures.row.height + measures.row.baseline}>
      {row.map(({ role, text }, piece) => (
        <tspan key={piece} class={`piece-${role}`}>
          {piece === 0 ? text : ` ${text}`}
        </tspan>
      ))}
    </text>
  ))

/** Highlights a line if one of its transitions was the last, or may be next. */
const lineClass = (lit: Lit | null, line: DrawnLine): string =>
  classes(
    "line",
    lit !== null && line.transitions.some((id) => lit.lastTransitions.has(id)) && "taken",
    lit !== null && line.transitions.some((id) => lit.nextTransitions.has(id)) && "next"
  )

const Lines = ({
  lines,
  lit,
  x,
  top
}: {
  lines: ReadonlyArray<DrawnLine>
  lit: Lit | null
  x: number
  top: number
}) => {
  let y = top
  return lines.map((line) => {
    const rows = rowsOf(line)
    const from = y
    y += rows.length * measures.row.height
    return (
      <g key={line.transitions[0]} class={lineClass(lit, line)}>
        <Rows rows={rows} x={x} top={from} />
      </g>
    )
  })
}

interface StateBox {
  readonly chart: Statechart
  readonly drawn: DrawnState
  readonly lit: Lit | null
  readonly level: Level
}

const StateBox = ({ chart, drawn, lit, level }: StateBox) => {
  const state = chart.states.find(({ name }) => name === drawn.name)!
  const { x, y, width, height } = drawn
  const { paddingX, paddingY, nameHeight, ruleHeight, fontSize, radius } = measures.state
  const own = level === "overview" ? [] : stateRows(state)
  const below = y + paddingY + nameHeight
  const innerTop = below + (own.length === 0 ? 0 : ruleHeight + own.length * measures.row.height)
  const rule = (at: number) => <line class="rule" x1={x + 8} y1={at + 2} x2={x + width - 8} y2={at + 2} />
  const gap = 3.5
  return (
    <>
      <rect class="halo" x={x - 5} y={y - 5} width={width + 10} height={height + 10} rx={radius + 4} />
      <rect class={classes("box", state.isFinal && "final")} x={x} y={y} width={width} height={height} rx={radius} />
      {state.isFinal ? (
        <rect
          class="inner"
          x={x + gap}
          y={y + gap}
          width={width - 2 * gap}
          height={height - 2 * gap}
          rx={radius - gap}
        />
      ) : null}
      <text class="name" x={x + width / 2} y={y + paddingY + fontSize}>
        {drawn.name}
      </text>
      {own.length === 0 ? null : (
        <>
          {rule(below)}
          <Rows rows={own} x={x + paddingX} top={below + ruleHeight} />
        </>
      )}
      {drawn.inner.length === 0 ? null : (
        <>
          {rule(innerTop)}
          <Lines lines={drawn.inner} lit={lit} x={x + paddingX} top={innerTop + ruleHeight} />
        </>
      )}
    </>
  )
}

const edgeLabel = (lit: Lit | null, edge: DrawnEdge): string =>
  [
    `${edge.from ?? anyStateText} to ${edge.to}: ${edge.lines.map(({ event }) => event).join(", ")}`,
    ...(edgeRole(lit, edge) === "taken" ? ["taken last"] : []),
    ...(edgeRole(lit, edge) === "next" ? ["may be next"] : [])
  ].join("; ")

const stateLabel = (lit: Lit | null, name: string): string =>
  [
    name,
    ...(lit?.current === name ? ["current state"] : []),
    ...(lit?.previous === name ? ["state before"] : []),
    ...(lit?.nextStates.has(name) ? ["may be next"] : [])
  ].join("; ")

const AnyState = ({ box: { x, y, width, height } }: { box: Box }) => (
  <g class="any">
    <rect x={x} y={y} width={width} height={height} rx={height / 2} />
    <text x={x + width / 2} y={y + (height - measures.row.height) / 2 + measures.row.baseline}>
      {anyStateText}
    </text>
  </g>
)

interface Shown {
  readonly chart: Statechart
  readonly drawing: Drawing
  readonly level: Level
  /** Null: no actor's life is shown. */
  readonly lit: Lit | null
  /** A new value animates the last edge again. */
  readonly turn: number
  /** Of this drawing's arrows, on the page. */
  readonly id: string
  readonly tell: (thing: Thing) => void
  readonly reveal: (box: Box) => void
  /** A state that is chosen; null: states cannot be chosen. */
  readonly choose: ((state: string) => void) | null
}

export const Arrows = ({ id }: Pick<Shown, "id">) => (
  <defs>
    {["plain", "taken", "next"].map((kind) => (
      <marker
        key={kind}
        id={`${id}-${kind}`}
        viewBox="0 0 8 8"
        refX="7.5"
        refY="4"
        markerWidth="9"
        markerHeight="9"
        markerUnits="userSpaceOnUse"
        orient="auto"
      >
        <path class={`head ${kind}`} d="M0 0.5L8 4L0 7.5Z" />
      </marker>
    ))}
  </defs>
)

const arrow = (id: string, role: string) => `url(#${id}-${role === "" ? "plain" : role})`

const Initial = ({ drawing, lit, turn, id }: Shown) => {
  const [first] = drawing.initial
  if (first === undefined) return null
  const role = lit?.isBeginning === true ? "taken" : ""
  return (
    <>
      <path
        key={`initial ${turn}`}
        class={classes("edge", role)}
        d={pathOf(drawing.initial)}
        pathLength={1}
        marker-end={arrow(id, role)}
      />
      <circle class="dot" cx={first.x} cy={first.y - measures.dot} r={measures.dot} />
    </>
  )
}

/** Later ones are drawn over earlier ones. */
const order = ["", "next", "taken"]

const inOrder = (edges: ReadonlyArray<DrawnEdge>, lit: Lit | null): ReadonlyArray<DrawnEdge> =>
  edges.toSorted((a, b) => order.indexOf(edgeRole(lit, a)) - order.indexOf(edgeRole(lit, b)))

const Edges = ({ drawing, lit, turn, id, tell }: Shown) =>
  inOrder(drawing.edges, lit).map((edge) => {
    const role = edgeRole(lit, edge)
    const told = () => tell({ type: "edge", edge })
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: the edge's label takes the keys
      <g key={edge.id} onMouseEnter={told} onClick={told}>
        <path class="reach" d={pathOf(edge.points)} />
        <path
          key={role === "taken" ? `taken ${turn}` : "line"}
          class={classes("edge", role)}
          data-line={edge.id}
          d={pathOf(edge.points)}
          {...(role === "taken" ? { pathLength: 1 } : {})}
          marker-end={arrow(id, role)}
        />
      </g>
    )
  })

const focusable = ({ id, tell, reveal }: Shown, thing: Thing, box: Box, label: string) => ({
  tabIndex: 0,
  role: "img" as const,
  "aria-label": label,
  "aria-describedby": `${id}-about`,
  onFocus: () => {
    tell(thing)
    reveal(box)
  },
  onMouseEnter: () => tell(thing),
  onClick: () => tell(thing)
})

const choosable = (choose: Shown["choose"], name: string) =>
  choose === null
    ? {}
    : {
        role: "button" as const,
        onClick: () => choose(name),
        onKeyDown: (event: KeyboardEvent) => {
          if (event.key !== "Enter" && event.key !== " ") return
          event.preventDefault()
          choose(name)
        }
      }

const States = (shown: Shown) => {
  const { chart, drawing, lit, level, choose } = shown
  return drawing.states.map((drawn, index) => {
    const { name } = drawn
    // A drawing of neighbours has the middle state first, and may have a state twice.
    const isFirst = drawing.states.findIndex((one) => one.name === name) === index
    const isCurrent = isFirst && lit?.current === name
    return (
      <g
        key={`${name} ${index}`}
        class={classes(
          "state",
          name === chart.initial && "initial",
          isCurrent && "current",
          isFirst && lit?.previous === name && "previous",
          lit?.nextStates.has(name) === true && "next"
        )}
        data-state={name}
        {...focusable(shown, { type: "state", name }, drawn, stateLabel(lit, name))}
        {...choosable(choose, name)}
        {...(isCurrent ? { "aria-current": "step" as const } : {})}
      >
        <StateBox chart={chart} drawn={drawn} lit={lit} level={level} />
      </g>
    )
  })
}

const Labels = (shown: Shown) =>
  shown.drawing.edges.map((edge) => {
    const { x, y, width, height } = edge.label
    return (
      <g
        key={edge.id}
        class={classes("label", edgeRole(shown.lit, edge))}
        data-edge={edge.id}
        {...focusable(shown, { type: "edge", edge }, edge.label, edgeLabel(shown.lit, edge))}
      >
        <rect x={x} y={y} width={width} height={height} rx={measures.label.radius} />
        <Lines lines={edge.lines} lit={shown.lit} x={x + measures.label.paddingX} top={y + measures.label.paddingY} />
      </g>
    )
  })

export const Drawn = (shown: Shown) => (
  <>
    <Initial {...shown} />
    <Edges {...shown} />
    {shown.drawing.anyState === null ? null : <AnyState box={shown.drawing.anyState} />}
    <States {...shown} />
    <Labels {...shown} />
  </>
)
