/** The parts of the timeline that need no browser: places of instants, rows of things, tones of states. */
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { kinds } from "../../../../src/console/pages/machine/kinds.ts"
import { foundAt, laneOf, rowsMax, stepAt } from "../../../../src/console/pages/sandbox/timeline/layout.ts"
import { gapWidthOn, scaleOf } from "../../../../src/console/pages/sandbox/timeline/scale.ts"
import { laneKinds, type Thing, Things } from "../../../../src/console/pages/sandbox/timeline/things.ts"
import { axisOf, shortly, spelled } from "../../../../src/console/pages/sandbox/timeline/times.ts"
import { isEnd, toneOf } from "../../../../src/console/pages/sandbox/timeline/tones.ts"
import { beside, closer, farther, within } from "../../../../src/console/pages/sandbox/timeline/zoom.ts"

const start = 1_700_000_000_000
const day = 86_400_000

/** Bursts of moments, hours to days apart. */
const instants = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 3 * day })), {
    minLength: 1,
    maxLength: 60
  })
  .map((rests) => {
    let at = start
    return Float64Array.from(rests.map((rest) => (at += rest)))
  })

const operation = (id: string, begin: number, end: number | null): Thing => ({
  kind: "operation",
  id,
  steps: (
    [
      ["CREATED", null, "queued", begin],
      ["STARTED", "queued", "running", begin + 1],
      ...(end === null ? [] : ([["EXITED", "running", "completed", end]] as const))
    ] as const
  ).map(([event, from, to, at], index) => ({
    revision: index + 1,
    at,
    event,
    from,
    to,
    cause: "test",
    requestId: null
  }))
})

describe("a line of time", () => {
  it("keeps the order of instants, has a place for each and an instant for each place", () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: 300, max: 2000 }), (found, width) => {
        const range = { from: start, to: found.at(-1)! + 1 }
        const scale = scaleOf(found, range, width)
        let before = Number.NEGATIVE_INFINITY
        for (const at of found) {
          const x = scale.x(at)
          assert.isTrue(x >= before && x >= -1e-6 && x <= width + 1e-6, `${x} of ${width}`)
          assert.approximately(scale.at(x), at, 1e-3 * (range.to - range.from))
          before = x
        }
        const last = scale.pieces.at(-1)!
        assert.approximately(last.x + last.width, width, 1e-6)
        for (const [index, piece] of scale.pieces.entries()) {
          assert.strictEqual(piece.from, scale.pieces[index - 1]?.to ?? range.from)
          if (!piece.isGap) continue
          assert.isFalse(
            found.some((at) => at > piece.from && at < piece.to),
            "something happened in a gap"
          )
        }
      })
    )
  })

  it("compresses what would take more than twice the room of its mark, and nothing else", () => {
    const bursts = Float64Array.from([0, 10, 20, day, day + 10, 2 * day, 2 * day + 30].map((rest) => start + rest))
    const { pieces } = scaleOf(bursts, { from: start, to: start + 2 * day + 40 }, 1000)
    assert.deepStrictEqual(
      pieces.filter(({ isGap }) => isGap).map(({ from, to }) => [from - start, to - start]),
      [
        [20, day],
        [day + 10, 2 * day]
      ]
    )
    assert.deepStrictEqual(
      pieces.filter(({ isGap }) => isGap).map(({ width }) => width),
      [gapWidthOn(1000), gapWidthOn(1000)]
    )
    const even = Float64Array.from({ length: 100 }, (_, index) => start + index * 1000)
    assert.strictEqual(scaleOf(even, { from: start, to: start + 99_000 }, 1000).pieces.length, 1)
    const nothing = scaleOf(new Float64Array(), { from: start, to: start + day }, 500)
    assert.deepStrictEqual([nothing.pieces.length, nothing.pieces[0]!.isGap, nothing.x(start + day)], [1, true, 500])
  })

  it("has marks that lie apart, and tells how long a gap was", () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: 300, max: 2000 }), (found, width) => {
        const marks = axisOf(scaleOf(found, { from: start, to: found.at(-1)! + 1 }, width))
        for (const [index, { x }] of marks.entries()) assert.isAtLeast(x - (marks[index - 1]?.x ?? -92), 92)
      })
    )
    assert.deepStrictEqual([250, 12_000, 3_700_000, 3 * day + 5].map(shortly), ["250 ms", "12 s", "1 h", "3 d"])
    assert.deepStrictEqual([250, 12_340, 61_000, 3_700_000, 3 * day, 3 * day + 7_300_000].map(spelled), [
      "250 ms",
      "12.3 s",
      "1 min 1 s",
      "1 h 1 min",
      "3 d",
      "3 d 2 h"
    ])
  })

  it("is seen closer, from farther, and beside, never beyond its ends", () => {
    const whole = { from: start, to: start + 10 * day }
    const found = Float64Array.from([start + 5, start + 5 * day, start + 10 * day - 5])
    const scale = scaleOf(found, whole, 1000)
    const near = within(closer(scale, start + 5 * day), whole)!
    assert.isTrue(
      near.from > whole.from && near.to < whole.to && near.from < start + 5 * day && near.to > start + 5 * day
    )
    assert.isNull(
      within(farther(near, start + 5 * day), whole) &&
        within(farther({ from: start, to: start + 9 * day }, start), whole)
    )
    const small = { from: start + 5 * day - 50, to: start + 5 * day + 50 }
    const before = within(beside(small, found, -1), whole)!
    assert.deepStrictEqual([before.from, before.to], [start, start + 100], "where the one before happened")
    const after = within(beside(small, found, 1), whole)!
    assert.isTrue(after.from <= found[2]! && after.to >= found[2]!)
  })
})

describe("a lane", () => {
  it("has a row for each of a few at once, and a crowd for what has no row; each is found where it is drawn", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 1, max: 30_000 }), fc.boolean()), {
          maxLength: 400
        }),
        (given) => {
          const now = start + 200_000
          const things = given
            .map(([at, length, isOpen], index) =>
              operation(`op_${index}`, start + at, isOpen ? null : start + at + 1 + length)
            )
            .sort((a, b) => a.steps[0]!.at - b.steps[0]!.at)
          const range = { from: start, to: now }
          const scale = scaleOf(
            Float64Array.from(things.flatMap(({ steps }) => steps.map(({ at }) => at))).sort(),
            range,
            800
          )
          const lane = laneOf("operation", things, scale, now)
          assert.strictEqual(lane.things.length, given.length)
          assert.isAtMost(lane.placed.length, rowsMax.operation)
          const crowded = lane.crowds.reduce((sum, { things }) => sum + things.length, 0)
          assert.strictEqual(lane.placed.flat().length + crowded, given.length, "none is left out")
          for (const [row, placed] of lane.placed.entries()) {
            for (const [index, { x, width, thing }] of placed.entries()) {
              const before = placed[index - 1]
              if (before !== undefined) assert.isAtLeast(x, before.x + before.width)
              assert.isAtLeast(width, 5)
              assert.strictEqual(foundAt(lane, x + width / 2, 4 + row * 24 + 10), placed[index])
              assert.include(thing.steps, stepAt(thing, scale, x + width / 2))
            }
          }
        }
      ),
      { numRuns: 50 }
    )
  })

  it("is drawn with as much as there is room for, however much happened", () => {
    const things = Array.from({ length: 5000 }, (_, index) =>
      operation(`op_${index}`, start + index * 40, start + index * 40 + 3000)
    )
    const range = { from: start, to: start + 5000 * 40 + 3000 }
    const scale = scaleOf(
      Float64Array.from(things.flatMap(({ steps }) => steps.map(({ at }) => at))).sort(),
      range,
      1000
    )
    const lane = laneOf("operation", things, scale, range.to)
    const drawn = [...lane.bars.values()].reduce((sum, path) => sum + path.split("M").length - 1, 0)
    assert.isBelow(drawn + lane.names.length + lane.crowds.length, 7 * 1000)
    assert.strictEqual(
      lane.crowds.reduce((sum, { things }) => sum + things.length, 0) + lane.placed.flat().length,
      5000
    )
    const life: Thing = {
      kind: "sandbox",
      id: "sbx",
      steps: Array.from({ length: 10_000 }, (_, index) => ({
        revision: index + 1,
        at: start + index * 100,
        event: "X",
        from: index === 0 ? null : index % 2 === 0 ? "running" : "stopped",
        to: index % 2 === 0 ? "stopped" : "running",
        cause: "test",
        requestId: null
      }))
    }
    const whole = { from: start, to: start + 1_000_000 }
    const own = laneOf(
      "sandbox",
      [life],
      scaleOf(Float64Array.from(life.steps.map(({ at }) => at)), whole, 1000),
      whole.to
    )
    assert.deepStrictEqual([...own.bars.keys()], ["many"])
    assert.isAtMost(own.ticks.split("M").length - 1, 1001)
  })

  it("ends a thing where its machine does, and has a colour for each of its states", () => {
    const tones = new Map<string, string>()
    for (const { kind, chart } of kinds) {
      const known = laneKinds.find((one) => one === kind)
      if (known === undefined) continue
      for (const { name, isFinal } of chart.states) {
        assert.strictEqual(isEnd(known, name), isFinal, `${kind} ${name}`)
        tones.set(name, toneOf(name))
      }
    }
    for (const [name, tone] of tones) {
      const isAtRest = /^(stopped|deleted|expired|cancelled|closed|revoked|ended)$/.test(name)
      assert.strictEqual(tone === "calm", isAtRest, name)
    }
  })
})

describe("things", () => {
  it("are the same in whatever order their steps are told, and how often", () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }),
        fc.integer({ min: 0, max: 5 }),
        (order, twice) => {
          const all = [operation("op_a", start, start + 9), operation("op_b", start + 3, start + 5)].flatMap((thing) =>
            thing.steps.map((step) => ({ thing, step }))
          )
          const things = new Things()
          for (const index of [...order, twice]) {
            const { thing, step } = all[index]!
            things.add(thing.kind, thing.id, step)
          }
          assert.deepStrictEqual(things.sorted(), [
            operation("op_a", start, start + 9),
            operation("op_b", start + 3, start + 5)
          ])
          assert.isFalse(things.add("operation", "op_a", all[0]!.step))
        }
      )
    )
  })
})
