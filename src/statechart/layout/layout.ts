/** Where everything of a machine's diagram is, found by ELK's layered algorithm (https://eclipse.dev/elk/). */
import { createRequire } from "node:module"
import type { ELK, ElkExtendedEdge, ElkNode, ElkPoint, LayoutOptions } from "elkjs"
import { edgesOf, innerOf, type Level } from "../edges.ts"
import { cross, segmentsOf } from "../geometry.ts"
import { measures } from "../measures.ts"
import { anyStateText, rowsOf, rowText, stateRows } from "../rows.ts"
import type { Box, ChartState, Description, Drawing, DrawnLine, Point } from "../Statechart.ts"
import { straighten } from "./straighten.ts"
import { textWidth } from "./textSize.ts"

const require = createRequire(import.meta.url)
const Elk: new () => ELK = require("elkjs")
const elk = new Elk()
const dot = "[*]"
const any = "*"

const options = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.randomSeed": "1",
  "elk.padding": `[top=${measures.margin},left=${measures.margin},bottom=${measures.margin},right=${measures.margin}]`,
  "elk.spacing.nodeNode": "40",
  "elk.spacing.edgeNode": "18",
  "elk.spacing.edgeEdge": "14",
  "elk.spacing.edgeLabel": "4",
  "elk.spacing.labelLabel": "8",
  "elk.spacing.nodeSelfLoop": "16",
  "elk.layered.spacing.nodeNodeBetweenLayers": "34",
  "elk.layered.spacing.edgeNodeBetweenLayers": "16",
  "elk.layered.spacing.edgeEdgeBetweenLayers": "14",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.considerModelOrder.strategy": "PREFER_EDGES",
  "elk.layered.compaction.postCompaction.strategy": "EDGE_LENGTH",
  "elk.layered.thoroughness": "100"
}

/** No one way of placing is best for each machine: all of these are tried. */
const trials = ["NETWORK_SIMPLEX", "BRANDES_KOEPF"].flatMap((placement) =>
  ["GREEDY", "MODEL_ORDER"].flatMap((cycles) =>
    ["SPACE_EFFICIENT_LAYER", "TAIL_LAYER", "HEAD_LAYER", "MEDIAN_LAYER", "WIDEST_LAYER"].map((labels) => ({
      ...options,
      "elk.layered.nodePlacement.strategy": placement,
      "elk.layered.cycleBreaking.strategy": cycles,
      "elk.layered.edgeLabels.centerLabelPlacementStrategy": labels
    }))
  )
)

/** Room for its name, and below a rule each for what it does by itself and for the events that it takes without being left. */
const stateSize = (state: ChartState, inner: ReadonlyArray<DrawnLine>, level: Level) => {
  const { fontSize, minWidth, nameHeight, ruleHeight, paddingX, paddingY } = measures.state
  const compartments = [level === "overview" ? [] : stateRows(state), inner.flatMap(rowsOf)].filter(
    (rows) => rows.length > 0
  )
  const rows = compartments.flat()
  const widths = [textWidth(state.name, fontSize), ...rows.map((row) => textWidth(rowText(row), measures.row.fontSize))]
  return {
    width: Math.max(minWidth, Math.max(...widths) + 2 * paddingX),
    height: 2 * paddingY + nameHeight + compartments.length * ruleHeight + rows.length * measures.row.height
  }
}

const anyStateSize = {
  width: textWidth(anyStateText, measures.row.fontSize) + 2 * measures.state.paddingX,
  height: measures.row.height + 2 * measures.state.paddingY
}

const labelSize = (lines: ReadonlyArray<DrawnLine>) => {
  const { paddingX, paddingY } = measures.label
  const rows = lines.flatMap(rowsOf)
  return {
    width: Math.max(...rows.map((row) => textWidth(rowText(row), measures.row.fontSize))) + 2 * paddingX,
    height: rows.length * measures.row.height + 2 * paddingY
  }
}

const rounded = (value: number | undefined) => Math.round(2 * (value ?? 0)) / 2
const pointOf = ({ x, y }: ElkPoint): Point => ({ x: rounded(x), y: rounded(y) })
const boxOf = ({ x, y, width, height }: Omit<ElkNode, "id">): Box => ({
  x: rounded(x),
  y: rounded(y),
  width: rounded(width),
  height: rounded(height)
})

const pointsOf = ({ sections }: ElkExtendedEdge): ReadonlyArray<Point> => {
  const { startPoint, bendPoints = [], endPoint } = sections![0]!
  return straighten([startPoint, ...bendPoints, endPoint].map(pointOf))
}

const layOutOnce = async (description: Description, level: Level, layoutOptions: LayoutOptions): Promise<Drawing> => {
  const edges = edgesOf(description, level)
  const inner = innerOf(description, level)
  const graph: ElkNode = {
    id: description.kind,
    layoutOptions,
    children: [
      { id: dot, width: 2 * measures.dot, height: 2 * measures.dot },
      ...(edges.some(({ from }) => from === null) ? [{ id: any, ...anyStateSize }] : []),
      ...description.states.map((state) => ({
        id: state.name,
        ...stateSize(state, inner.get(state.name) ?? [], level)
      }))
    ],
    edges: [
      { id: dot, sources: [dot], targets: [description.initial] },
      ...edges.map(({ id, from, to, lines }) => ({
        id,
        sources: [from ?? any],
        targets: [to],
        labels: [
          {
            id,
            text: id,
            ...labelSize(lines),
            layoutOptions: { "elk.edgeLabels.inline": "true", "elk.edgeLabels.placement": "CENTER" }
          }
        ]
      }))
    ]
  }
  const laid = await elk.layout(graph)
  const found = new Map((laid.edges ?? []).map((edge) => [edge.id, edge]))
  const boxes = new Map((laid.children ?? []).map((node) => [node.id, boxOf(node)]))
  return {
    width: rounded(laid.width),
    height: rounded(laid.height),
    states: description.states.map(({ name }) => ({ name, ...boxes.get(name)!, inner: inner.get(name) ?? [] })),
    anyState: boxes.get(any) ?? null,
    edges: edges.map((edge) => {
      const { labels, ...rest } = found.get(edge.id)!
      return { ...edge, points: pointsOf(rest), label: boxOf(labels![0]!) }
    }),
    initial: pointsOf(found.get(dot)!)
  }
}

const pairsOf = <A>(all: ReadonlyArray<A>) =>
  all.flatMap((a, index) => all.slice(index + 1).map((b) => [a, b] as const))

const crossingsOf = ({ edges }: Drawing): number =>
  pairsOf(edges.map(({ points }) => segmentsOf(points))).reduce(
    (sum, [one, other]) => sum + one.flatMap((a) => other.filter((b) => cross(a, b))).length,
    0
  )

const bendsOf = ({ edges }: Drawing): number => edges.reduce((sum, { points }) => sum + points.length - 2, 0)

/** Steps so short that they look like a mistake. */
const jogsOf = ({ edges }: Drawing): number =>
  edges.reduce(
    (sum, { points }) =>
      sum + segmentsOf(points).filter(([a, b]) => Math.abs(a.x - b.x) + Math.abs(a.y - b.y) < 8).length,
    0
  )

/** A unit of width costs as much as these units of height. An overview is seen whole, beside other things. */
const widthCost: Readonly<Record<Level, number>> = { detail: 2, overview: 3 }

/**
 * Less is better. A page is narrow, so width costs more than height; a crossing is worth a wider page, and a bend or a jog a little. A life
 * begins at the top.
 */
const costOf = (drawing: Drawing, level: Level): number =>
  widthCost[level] * drawing.width +
  drawing.height +
  80 * crossingsOf(drawing) +
  6 * bendsOf(drawing) +
  60 * jogsOf(drawing) +
  5 * drawing.initial[0]!.y

/** The best of all trials; the same on every machine, for ELK computes in doubles and keeps no clock. Some ways fail with some machines. */
export const layOut = async (description: Description, level: Level): Promise<Drawing> => {
  const tried = await Promise.allSettled(trials.map((trial) => layOutOnce(description, level, trial)))
  const drawings = tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
  if (drawings.length === 0) throw new Error(`No way of placing draws ${description.kind}.`)
  return drawings.reduce((best, drawing) => (costOf(drawing, level) < costOf(best, level) ? drawing : best))
}
