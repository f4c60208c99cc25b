/** Which part of a machine's diagram is shown. */
import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import { statecharts } from "../../../../scripts/machines/files.ts"
import {
  bounded,
  fitted,
  maxScale,
  minScale,
  opened,
  readableScale,
  revealed,
  type View,
  zoomed
} from "../../../../src/console/pages/statechart/viewport.ts"
import { measures } from "../../../../src/statechart/measures.ts"
import type { Box } from "../../../../src/statechart/Statechart.ts"

const rooms = fc.record({ width: fc.integer({ min: 280, max: 2000 }), height: fc.integer({ min: 200, max: 1200 }) })

const shownBox = ({ x, y, scale }: View, box: Box): Box => ({
  x: x + scale * box.x,
  y: y + scale * box.y,
  width: scale * box.width,
  height: scale * box.height
})

it("opens each machine in each state with letters of 12 pixels or more, and the state in sight", () => {
  assert.isAtLeast(measures.row.fontSize * readableScale, 12)
  const all = statecharts.flatMap(({ overview, drawing }) =>
    [overview, drawing].flatMap((one) => one.states.map((state) => ({ one, state })))
  )
  fc.assert(
    fc.property(fc.constantFrom(...all), rooms, ({ one, state }, room) => {
      const near = one.states.filter(({ name }) => one.edges.some(({ from, to }) => from === state.name && to === name))
      const view = opened(one, state, near, room)
      assert.isAtLeast(view.scale, readableScale)
      const box = shownBox(view, state)
      // A box that is larger than the room is shown from its upper left corner.
      assert.isAtLeast(box.x, -1)
      assert.isAtLeast(box.y, -1)
      if (box.width + 34 <= room.width) assert.isAtMost(box.x + box.width, room.width + 1)
      if (box.height + 34 <= room.height) assert.isAtMost(box.y + box.height, room.height + 1)
    })
  )
})

it("zooms around the pointer, within its bounds", () => {
  fc.assert(
    fc.property(
      fc.record({ x: fc.integer(), y: fc.integer(), scale: fc.double({ min: minScale, max: maxScale, noNaN: true }) }),
      fc.double({ min: 0.1, max: 10, noNaN: true }),
      fc.record({ x: fc.integer({ min: 0, max: 2000 }), y: fc.integer({ min: 0, max: 2000 }) }),
      (view, factor, at) => {
        const next = zoomed(view, factor, at)
        assert.isAtLeast(next.scale, minScale)
        assert.isAtMost(next.scale, maxScale)
        const before = (at.x - view.x) / view.scale
        const after = (at.x - next.x) / next.scale
        assert.closeTo(after, before, 1e-6 * Math.max(1, Math.abs(before)))
      }
    )
  )
})

it("never loses the drawing: some of it is in sight wherever it was dragged to", () => {
  const { overview } = statecharts.find(({ kind }) => kind === "sandbox")!
  fc.assert(
    fc.property(fc.integer(), fc.integer(), rooms, (x, y, room) => {
      const view = bounded({ x, y, scale: 1 }, overview, room)
      assert.isBelow(view.x, room.width)
      assert.isBelow(view.y, room.height)
      assert.isAbove(view.x + overview.width, 0)
      assert.isAbove(view.y + overview.height, 0)
    })
  )
})

it("fits all of a drawing, and leaves what is in sight where it is", () => {
  const { drawing } = statecharts.find(({ kind }) => kind === "sandbox")!
  const room = { width: 640, height: 500 }
  const view = fitted(drawing, room)
  assert.isAtMost(view.scale * drawing.width, room.width + 1)
  assert.isAtMost(view.scale * drawing.height, room.height + 1)
  const seen = { x: 0, y: 0, scale: 1 }
  assert.deepStrictEqual(revealed(seen, { x: 50, y: 50, width: 100, height: 40 }, room), seen)
})
