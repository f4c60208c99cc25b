import { assert, describe, it } from "vitest"
import { statecharts } from "../../../scripts/machines/files.ts"
import { overlap, passes, segmentsOf } from "../../../src/statechart/geometry.ts"
import { neighboursOf } from "../../../src/statechart/neighbours.ts"

/** Pixels inside the pane of a telephone 390 pixels wide. */
const narrow = 322

const pairs = <A>(all: ReadonlyArray<A>) => all.flatMap((a, index) => all.slice(index + 1).map((b) => [a, b] as const))

describe.each(statecharts.map((chart) => [chart.kind, chart] as const))("the neighbours in %s", (_, chart) => {
  const drawings = chart.states.map(({ name }) => ({ name, drawing: neighboursOf(chart, name, narrow) }))

  it("are all that one event leads to, and all that lead to the state, on a telephone's width", () => {
    for (const { name, drawing } of drawings) {
      assert.isAtMost(drawing.width, narrow, name)
      const drawn = drawing.edges.flatMap(({ lines }) => lines.flatMap(({ transitions }) => transitions))
      const wanted = chart.transitions.filter(({ from, to }) => to !== null && (from === name || to === name))
      assert.includeMembers(
        drawn,
        wanted.map(({ id }) => id),
        name
      )
      assert.strictEqual(drawing.states[0]!.name, name)
    }
  })

  it("lie on no other, and no line passes through a state", () => {
    for (const { name, drawing } of drawings) {
      const boxes = [
        ...drawing.states,
        ...(drawing.anyState === null ? [] : [drawing.anyState]),
        ...drawing.edges.map(({ label }) => label)
      ]
      for (const [a, b] of pairs(boxes)) assert.isFalse(overlap(a, b), name)
      for (const box of boxes) assert.isAtMost(box.x + box.width, drawing.width)
      for (const { id, points } of drawing.edges) {
        for (const segment of segmentsOf(points)) {
          for (const box of drawing.states) assert.isFalse(passes(segment, box), `${id} in ${name}`)
        }
      }
    }
  })
})
