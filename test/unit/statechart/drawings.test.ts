import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { machineFiles, statecharts } from "../../../scripts/machines/files.ts"
import { cross, overlap, passes, segmentsOf } from "../../../src/statechart/geometry.ts"
import { textWidth } from "../../../src/statechart/layout/textSize.ts"
import { measures } from "../../../src/statechart/measures.ts"
import { rowsOf, rowText, stateRows } from "../../../src/statechart/rows.ts"
import type { Box, Point } from "../../../src/statechart/Statechart.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"

const folder = join(import.meta.dirname, "../../../docs/machines")

const pairs = <A>(all: ReadonlyArray<A>) => all.flatMap((a, index) => all.slice(index + 1).map((b) => [a, b] as const))

const isOnBorder = ({ x, y }: Point, box: Box) =>
  ((x === box.x || x === box.x + box.width) && y >= box.y && y <= box.y + box.height) ||
  ((y === box.y || y === box.y + box.height) && x >= box.x && x <= box.x + box.width)

it("docs/machines shows every machine as it is: npm run machines", () => {
  assert.deepStrictEqual(readdirSync(folder).sort(), [...machineFiles.keys()].sort())
  for (const [name, content] of machineFiles) {
    assert.isTrue(readFileSync(join(folder, name), "utf8") === content, `docs/machines/${name} is stale`)
  }
})

it("every machine is drawn", () => {
  assert.sameMembers(
    statecharts.map(({ kind }) => kind),
    machineSources.map(({ machine }) => machine.id)
  )
})

it("draws what leads to one state from all others once", () => {
  const sandbox = statecharts.find(({ kind }) => kind === "sandbox")!
  for (const { edges } of [sandbox.drawing, sandbox.overview]) {
    const deleted = edges.filter(({ lines }) => lines.some(({ event }) => event === "DELETE"))
    assert.deepStrictEqual(
      deleted.map(({ from, to }) => [from, to]),
      [[null, "deleting"]]
    )
  }
})

const drawings = statecharts.flatMap((chart) => [
  [`the drawing of ${chart.kind}`, chart, chart.drawing, "detail"] as const,
  [`the overview of ${chart.kind}`, chart, chart.overview, "overview"] as const
])

describe.each(drawings)("%s", (_, chart, drawing, level) => {
  const { states, edges, anyState, initial, width, height } = drawing
  const boxes = new Map<string, Box>([
    ...states.map((box) => [box.name, box] as const),
    ...(anyState === null ? [] : [["any state", anyState] as const])
  ])
  const labels = new Map(edges.map(({ id, label }) => [`label ${id}`, label]))

  it("has each state once, and each transition in one line", () => {
    assert.deepStrictEqual(
      states.map(({ name }) => name),
      chart.states.map(({ name }) => name)
    )
    const drawn = [...states.flatMap(({ inner }) => inner), ...edges.flatMap(({ lines }) => lines)]
    const wanted = chart.transitions.filter(({ to }) => level === "detail" || to !== null)
    assert.sameMembers(
      drawn.flatMap(({ transitions }) => transitions),
      wanted.map(({ id }) => id)
    )
  })

  it("explains each event, guard and command", () => {
    const silent = [...chart.events, ...chart.guards, ...chart.commands].filter(({ description }) => description === "")
    assert.deepStrictEqual(silent, [])
  })

  it("leads each edge from the border of its state to that of its target, and the first one to the initial state", () => {
    for (const { id, from, to, points } of edges) {
      assert.isTrue(isOnBorder(points[0]!, boxes.get(from ?? "any state")!), `${id} begins elsewhere`)
      assert.isTrue(isOnBorder(points.at(-1)!, boxes.get(to)!), `${id} ends elsewhere`)
    }
    assert.isTrue(isOnBorder(initial.at(-1)!, boxes.get(chart.initial)!))
  })

  it("lays no state or label on another, and nothing beyond its edge", () => {
    const all = [...boxes, ...labels]
    for (const [[a, one], [b, other]] of pairs(all)) assert.isFalse(overlap(one, other), `${a} lies on ${b}`)
    for (const [name, box] of all) {
      assert.isTrue(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, name)
    }
  })

  it("leads no edge through a state, or through the label of another edge", () => {
    for (const { id, points } of edges) {
      for (const segment of segmentsOf(points)) {
        for (const [name, box] of boxes) assert.isFalse(passes(segment, box), `${id} passes through ${name}`)
        for (const [name, box] of labels) {
          if (name !== `label ${id}`) assert.isFalse(passes(segment, box), `${id} passes through ${name}`)
        }
      }
    }
  })

  it("runs no two edges on one line", () => {
    for (const [one, other] of pairs(edges)) {
      for (const a of segmentsOf(one.points)) {
        for (const b of segmentsOf(other.points)) {
          const isSameWay = (a[0].x === a[1].x) === (b[0].x === b[1].x)
          assert.isFalse(isSameWay && cross(a, b), `${one.id} runs on ${other.id}`)
        }
      }
    }
  })

  it("gives all text room in its box", () => {
    const { row, state, label } = measures
    for (const { name, inner, ...box } of states) {
      const own = level === "overview" ? [] : stateRows(chart.states.find((one) => one.name === name)!)
      const rows = [...own, ...inner.flatMap(rowsOf)]
      for (const one of rows) {
        assert.isAtMost(textWidth(rowText(one), row.fontSize), box.width - 2 * state.paddingX, rowText(one))
      }
      assert.isAtMost(textWidth(name, state.fontSize), box.width - 2 * state.paddingX)
      assert.isAtMost(state.nameHeight + rows.length * row.height, box.height - 2 * state.paddingY)
    }
    for (const { lines, label: box } of edges) {
      const rows = lines.flatMap(rowsOf)
      for (const one of rows) {
        assert.isAtMost(textWidth(rowText(one), row.fontSize), box.width - 2 * label.paddingX, rowText(one))
      }
      assert.isAtMost(rows.length * row.height, box.height - 2 * label.paddingY)
    }
  })
})
