import { assert, describe, it } from "vitest"
import type { BenchRun, Machine } from "../../../bench/BenchRun.ts"
import { compareRuns } from "../../../bench/Comparison.ts"
import type { Headline } from "../../../bench/Headline.ts"
import { comparisonText } from "../../../bench/HeadlineTable.ts"

const machine: Machine = {
  cpu: "A",
  cores: 2,
  memoryGiB: 24,
  kernel: "6.18",
  node: "24.1.0",
  postgres: "18.4",
  runtime: "bubblewrap 0.8.0"
}

type Values = Headline["values"]

const figure = (name: string, values: Values, more: Partial<Headline> = {}): Headline => ({
  name,
  unit: "ms",
  better: "lower",
  values,
  ...more
})

const run = (headlines: ReadonlyArray<Headline>, more: Partial<BenchRun> = {}): BenchRun => ({
  format: "atoll-bench/1",
  machine,
  benches: [{ bench: "one", at: "2026-11-26T10:00:00.000Z", commit: "abc", failure: null, headlines }],
  ...more
})

const besides = (values: Values) => ({ other: { name: "bare", values } })

/** The moves, each as `value worse`. */
const moves = (then: Headline, now: Headline) =>
  compareRuns(run([then]), run([now])).moved.map(({ of, verdict }) => `${of} ${verdict}`)

describe("a figure moves by more than the spread of both runs", () => {
  it("rounds that overlap are no move, however far the medians lie apart", () => {
    assert.deepStrictEqual(moves(figure("a", [10, 11, 20]), figure("a", [19, 30, 31])), [])
  })

  it("rounds that lie apart are one, in the direction that the figure says is better", () => {
    assert.deepStrictEqual(moves(figure("a", [10, 11, 12]), figure("a", [14, 15, 16])), ["value worse"])
    assert.deepStrictEqual(moves(figure("a", [14, 15, 16]), figure("a", [10, 11, 12])), ["value better"])
    const rate = (values: Values) => figure("a", values, { better: "higher" })
    assert.deepStrictEqual(moves(rate([10, 11, 12]), rate([14, 15, 16])), ["value better"])
  })

  it("one slow round of ten hides no move", () => {
    const then = [10, 10, 10, 10, 10, 10, 10, 10, 10, 99]
    const now = [20, 20, 20, 20, 20, 20, 20, 20, 20, 20]
    assert.deepStrictEqual(moves(figure("a", then), figure("a", now)), ["value worse"])
    assert.deepStrictEqual(moves(figure("a", then.slice(1)), figure("a", now)), [])
  })

  it("without any spread, less than two percent on both sides is no move", () => {
    assert.deepStrictEqual(moves(figure("a", [100, 100]), figure("a", [103, 103])), [])
    assert.deepStrictEqual(moves(figure("a", [100, 100]), figure("a", [105, 105])), ["value worse"])
    assert.deepStrictEqual(moves(figure("a", [0, 0]), figure("a", [0, 0])), [])
    assert.deepStrictEqual(moves(figure("a", [0, 0]), figure("a", [1, 1])), ["value worse"])
  })

  it("the spread of a single round is unknown: ten percent stand in", () => {
    assert.deepStrictEqual(moves(figure("a", [100]), figure("a", [115])), [])
    assert.deepStrictEqual(moves(figure("a", [100]), figure("a", [125])), ["value worse"])
  })

  it("a ratio is taken round by round, and moves without the value", () => {
    const then = figure("a", [10, 20, 30], besides([100, 200, 300]))
    const now = figure("a", [10, 20, 30], besides([50, 100, 150]))
    assert.deepStrictEqual(moves(then, now), ["ratio worse"])
  })

  it("the value moves without the ratio when the whole machine is slower", () => {
    const then = figure("a", [10, 11, 12], besides([100, 110, 120]))
    const now = figure("a", [20, 22, 24], besides([200, 220, 240]))
    assert.deepStrictEqual(moves(then, now), ["value worse"])
  })
})

describe("what only one side has", () => {
  it("figures that one run lacks are named, and not compared", () => {
    const found = compareRuns(run([figure("a", [1]), figure("b", [1])]), run([figure("b", [1]), figure("c", [1])]))
    assert.deepStrictEqual(found, {
      sameMachine: true,
      moved: [],
      unmoved: 1,
      onlyThen: ["a"],
      onlyNow: ["c"],
      incomparable: []
    })
  })

  it("a benchmark that the later run was not asked for is not missed", () => {
    const other = { bench: "two", at: "", commit: "", failure: null, headlines: [figure("b", [1])] }
    const then = run([figure("a", [1])])
    const found = compareRuns({ ...then, benches: [...then.benches, other] }, run([figure("a", [1])]))
    assert.deepStrictEqual(found.onlyThen, [])
  })

  it("the figures of a benchmark that failed now are named", () => {
    const failed = { bench: "one", at: "", commit: "", failure: "ended with 1", headlines: [] }
    const found = compareRuns(run([figure("a", [1])]), run([], { benches: [failed] }))
    assert.deepStrictEqual(found.onlyThen, ["a"])
  })

  it("a figure without another side now keeps its value compared", () => {
    const then = figure("a", [10, 10], besides([100, 100]))
    assert.deepStrictEqual(moves(then, figure("a", [20, 20])), ["value worse"])
    assert.deepStrictEqual(moves(figure("a", [20, 20]), then), ["value better"])
  })

  it("a figure whose unit changed is not compared", () => {
    const found = compareRuns(run([figure("a", [1])]), run([figure("a", [1000], { unit: "µs" })]))
    assert.deepStrictEqual([found.incomparable, found.moved], [["a"], []])
  })
})

describe("a run of another machine", () => {
  const then = run([figure("a", [10, 10], besides([100, 100])), figure("b", [10, 10])], {
    machine: { ...machine, cpu: "B" }
  })
  const now = run([figure("a", [90, 90], besides([300, 300])), figure("b", [50, 50])])

  it("compares ratios only, and names the figures that have none", () => {
    const found = compareRuns(then, now)
    assert.deepStrictEqual(
      found.moved.map(({ name, of, verdict }) => `${name} ${of} ${verdict}`),
      ["a ratio worse"]
    )
    assert.deepStrictEqual([found.sameMachine, found.incomparable], [false, ["b"]])
  })

  it("says so", () => {
    const [first, second] = comparisonText(then, compareRuns(then, now)).split("\n")
    assert.match(first!, /^The earlier run has another machine, so only ratios are compared\. It was: B, 2 cores/)
    assert.strictEqual(second, "worse: a, ratio: 0.1 (0.1–0.1) then, 0.3 (0.3–0.3) now")
  })

  it("another kernel, Node or Postgres is part of what is measured", () => {
    const newer = { ...machine, kernel: "7.0", node: "25.0.0", postgres: "19.0" }
    const found = compareRuns(run([figure("b", [10, 10])], { machine: newer }), now)
    assert.deepStrictEqual(
      found.moved.map(({ name, of, verdict }) => `${name} ${of} ${verdict}`),
      ["b value worse"]
    )
  })
})
