/** A machine's diagram, with highlights for one moment of an actor. Every state and every edge can be pointed at and focused. */
import { useId, useState } from "preact/hooks"
import type { Lit } from "../../../statechart/lit.ts"
import { measures } from "../../../statechart/measures.ts"
import { pathOf } from "../../../statechart/path.ts"
import { anyStateText, type Row, rowsOf, stateRows } from "../../../statechart/rows.ts"
import type { DrawnEdge, DrawnLine, DrawnState, Statechart } from "../../../statechart/Statechart.ts"
import { About, type Thing } from "./About.tsx"

interface Shown {
  readonly chart: Statechart
  /** Null: nobody's life is shown. */
  readonly lit: Lit | null
  /** A new value animates the last edge again. */
  readonly turn?: number
}

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

const Box = ({ chart, drawn, lit }: { chart: Statechart; drawn: DrawnState; lit: Lit | null }) => {
  const state = chart.states.find(({ name }) => name === drawn.name)!
  const { x, y, width, height } = drawn
  const { paddingX, paddingY, nameHeight, ruleHeight, fontSize, radius } = measures.state
  const own = stateRows(state)
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

const kindOfEdge = (lit: Lit | null, id: string) =>
  lit === null ? "" : lit.lastEdges.has(id) ? "taken" : lit.nextEdges.has(id) ? "next" : ""

const edgeLabel = (lit: Lit | null, { id, from, to, lines }: DrawnEdge): string =>
  [
    `${from ?? anyStateText} to ${to}: ${lines.map(({ event }) => event).join(", ")}`,
    ...(lit?.lastEdges.has(id) ? ["taken last"] : []),
    ...(lit?.nextEdges.has(id) ? ["may be next"] : [])
  ].join("; ")

const stateLabel = (lit: Lit | null, name: string): string =>
  [
    name,
    ...(lit?.current === name ? ["current state"] : []),
    ...(lit?.previous === name ? ["state before"] : []),
    ...(lit?.nextStates.has(name) ? ["may be next"] : [])
  ].join("; ")

export const StatechartDrawing = ({ chart, lit, turn = 0 }: Shown) => {
  const id = useId()
  const [about, setAbout] = useState<Thing | null>(null)
  const [isFull, setFull] = useState(false)
  const { drawing, initial } = chart
  const first = drawing.initial[0]!
  const pointedAt = (thing: Thing) => ({
    onFocus: () => setAbout(thing),
    onMouseEnter: () => setAbout(thing),
    onClick: () => setAbout(thing)
  })
  const focusable = (thing: Thing, label: string) => ({
    tabIndex: 0,
    role: "img" as const,
    "aria-label": label,
    "aria-describedby": `${id}-about`,
    ...pointedAt(thing)
  })
  const arrow = (kind: string) => `url(#${id}-${kind === "" ? "plain" : kind})`
  return (
    <div class="statechart">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <section class={classes("drawing", isFull && "full")} tabIndex={0} aria-label={`The drawing of ${chart.kind}`}>
        <svg
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          width={drawing.width}
          height={drawing.height}
          role="group"
          aria-label={`Statechart of ${chart.kind}`}
        >
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
          <path
            key={`initial ${turn}`}
            class={classes("edge", lit?.isBeginning === true && "taken")}
            d={pathOf(drawing.initial)}
            pathLength={1}
            marker-end={arrow(lit?.isBeginning === true ? "taken" : "")}
          />
          <circle class="dot" cx={first.x} cy={first.y - measures.dot} r={measures.dot} />
          {drawing.edges.map((edge) => {
            const kind = kindOfEdge(lit, edge.id)
            return (
              <g key={edge.id} {...pointedAt({ type: "edge", edge })}>
                <path class="reach" d={pathOf(edge.points)} />
                <path
                  key={kind === "taken" ? `taken ${turn}` : "line"}
                  class={classes("edge", kind)}
                  data-line={edge.id}
                  d={pathOf(edge.points)}
                  {...(kind === "taken" ? { pathLength: 1 } : {})}
                  marker-end={arrow(kind)}
                />
              </g>
            )
          })}
          {drawing.anyState === null ? null : (
            <g class="any">
              <rect
                x={drawing.anyState.x}
                y={drawing.anyState.y}
                width={drawing.anyState.width}
                height={drawing.anyState.height}
                rx={drawing.anyState.height / 2}
              />
              <text
                x={drawing.anyState.x + drawing.anyState.width / 2}
                y={drawing.anyState.y + measures.state.paddingY + measures.row.baseline}
              >
                {anyStateText}
              </text>
            </g>
          )}
          {drawing.states.map((drawn) => (
            <g
              key={drawn.name}
              class={classes(
                "state",
                drawn.name === initial && "initial",
                lit?.current === drawn.name && "current",
                lit?.previous === drawn.name && "previous",
                lit?.nextStates.has(drawn.name) === true && "next"
              )}
              data-state={drawn.name}
              {...focusable({ type: "state", name: drawn.name }, stateLabel(lit, drawn.name))}
              {...(lit?.current === drawn.name ? { "aria-current": "step" as const } : {})}
            >
              <Box chart={chart} drawn={drawn} lit={lit} />
            </g>
          ))}
          {drawing.edges.map((edge) => {
            const { x, y, width, height } = edge.label
            return (
              <g
                key={edge.id}
                class={classes("label", kindOfEdge(lit, edge.id))}
                data-edge={edge.id}
                {...focusable({ type: "edge", edge }, edgeLabel(lit, edge))}
              >
                <rect x={x} y={y} width={width} height={height} rx={measures.label.radius} />
                <Lines lines={edge.lines} lit={lit} x={x + measures.label.paddingX} top={y + measures.label.paddingY} />
              </g>
            )
          })}
        </svg>
      </section>
      <div class="legend">
        {lit === null ? null : (
          <>
            <span class="key-current">current state</span>
            <span class="key-taken">taken last</span>
            <span class="key-next">may be next</span>
          </>
        )}
        <button type="button" class="button small" onClick={() => setFull(!isFull)}>
          {isFull ? "Fit the page" : "Full size"}
        </button>
      </div>
      <div class="about" id={`${id}-about`}>
        <About chart={chart} thing={about} />
      </div>
    </div>
  )
}
