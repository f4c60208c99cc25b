/** A machine's diagram, as it stands at a moment: where it is, which way it came, and what may happen next. */
import { type Lit, litOf, type Moment } from "../../../statechart/lit.ts"
import { measures } from "../../../statechart/measures.ts"
import { pathOf } from "../../../statechart/path.ts"
import { anyStateText, type Row, rowsOf, stateRows } from "../../../statechart/rows.ts"
import type { ChartState, DrawnEdge, DrawnState, Statechart } from "../../../statechart/Statechart.ts"

const Rows = ({ rows, x, top }: { rows: ReadonlyArray<Row>; x: number; top: number }) => (
  <>
    {rows.map((row, index) => (
      <text key={index} x={x} y={top + index * measures.row.height + measures.row.baseline}>
        {row.map(({ role, text }, piece) => (
          <tspan key={piece} class={`chart-${role}`}>
            {piece === 0 ? text : ` ${text}`}
          </tspan>
        ))}
      </text>
    ))}
  </>
)

const stateClass = (name: string, lit: Lit): string =>
  name === lit.current
    ? "chart-state is-current"
    : name === lit.previous
      ? "chart-state is-previous"
      : lit.nextStates.has(name)
        ? "chart-state is-next"
        : "chart-state"

const State = ({ state, drawn, lit }: { state: ChartState; drawn: DrawnState; lit: Lit }) => {
  const { x, y, width, height } = drawn
  const { paddingX, paddingY, nameHeight, ruleHeight, fontSize, radius } = measures.state
  const own = stateRows(state)
  const inner = drawn.inner.flatMap(rowsOf)
  const ownTop = y + paddingY + nameHeight + ruleHeight
  const innerTop = ownTop + (own.length === 0 ? 0 : own.length * measures.row.height + ruleHeight)
  return (
    <g data-state={state.name} class={stateClass(state.name, lit)}>
      <title>{`${state.name}: ${state.description}`}</title>
      <rect x={x} y={y} width={width} height={height} rx={radius} />
      {state.isFinal ? (
        <rect class="chart-inner" x={x + 3.5} y={y + 3.5} width={width - 7} height={height - 7} rx={radius - 3.5} />
      ) : null}
      <text class="chart-name" x={x + width / 2} y={y + paddingY + fontSize} text-anchor="middle">
        {state.name}
      </text>
      <Rows rows={own} x={x + paddingX} top={ownTop} />
      <Rows rows={inner} x={x + paddingX} top={innerTop} />
    </g>
  )
}

const edgeClass = (id: string, lit: Lit): string =>
  lit.lastEdges.has(id) ? "is-last" : lit.nextEdges.has(id) ? "is-next" : ""

const Label = ({ edge, lit }: { edge: DrawnEdge; lit: Lit }) => {
  const { x, y, width, height } = edge.label
  const { paddingX, paddingY, radius } = measures.label
  return (
    <g class={`chart-label ${edgeClass(edge.id, lit)}`}>
      <rect x={x} y={y} width={width} height={height} rx={radius} />
      <Rows rows={edge.lines.flatMap(rowsOf)} x={x + paddingX} top={y + paddingY} />
    </g>
  )
}

export const Chart = ({ machine, moment }: { machine: Statechart; moment: Moment }) => {
  const { drawing, states } = machine
  const lit = litOf(machine, moment)
  const boxes = new Map(drawing.states.map((box) => [box.name, box]))
  const first = drawing.initial[0]!
  const { anyState } = drawing
  return (
    <svg
      class="statechart"
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      width={drawing.width}
      height={drawing.height}
      role="img"
      aria-label={`The states of a ${machine.kind}: it is ${moment.state}`}
    >
      <defs>
        <marker
          id="arrow"
          viewBox="0 0 8 8"
          refX="7.5"
          refY="4"
          markerWidth="10"
          markerHeight="10"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path class="chart-head" d="M0 0.5L8 4L0 7.5Z" />
        </marker>
      </defs>
      <path
        class={`chart-edge ${lit.isBeginning ? "is-last" : ""}`}
        d={pathOf(drawing.initial)}
        marker-end="url(#arrow)"
      />
      <circle class="chart-dot" cx={first.x} cy={first.y - measures.dot} r={measures.dot} />
      {drawing.edges.map(({ id, points }) => (
        <path
          key={id}
          data-edge={id}
          class={`chart-edge ${edgeClass(id, lit)}`}
          d={pathOf(points)}
          marker-end="url(#arrow)"
        />
      ))}
      {anyState === null ? null : (
        <g class="chart-any">
          <rect
            x={anyState.x}
            y={anyState.y}
            width={anyState.width}
            height={anyState.height}
            rx={anyState.height / 2}
          />
          <text
            x={anyState.x + anyState.width / 2}
            y={anyState.y + measures.state.paddingY + measures.row.baseline}
            text-anchor="middle"
          >
            {anyStateText}
          </text>
        </g>
      )}
      {states.map((state) => (
        <State key={state.name} state={state} drawn={boxes.get(state.name)!} lit={lit} />
      ))}
      {drawing.edges.map((edge) => (
        <Label key={edge.id} edge={edge} lit={lit} />
      ))}
    </svg>
  )
}
