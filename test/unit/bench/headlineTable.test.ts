import { assert, describe, it } from "vitest"
import type { BenchResult, BenchRun } from "../../../bench/BenchRun.ts"
import { merged } from "../../../bench/BenchRun.ts"
import type { Headline } from "../../../bench/Headline.ts"
import { headlinesIn } from "../../../bench/Headline.ts"
import { headlineTable, measuredText, shown } from "../../../bench/HeadlineTable.ts"
import { inRounds, isReached, roundsOf } from "../../../bench/Rounds.ts"

const create: Headline = {
  name: "create",
  unit: "ms",
  better: "lower",
  values: [21, 19, 20],
  other: { name: "bare", values: [84, 95, 80] },
  aim: { value: 20, ratio: 0.2 }
}

const result = (bench: string, more: Partial<BenchResult> = {}): BenchResult => ({
  bench,
  at: "2026-11-26T10:00:00.000Z",
  commit: "abc",
  failure: null,
  headlines: [],
  ...more
})

const run = (...benches: ReadonlyArray<BenchResult>): BenchRun => ({
  format: "atoll-bench/1",
  machine: {
    cpu: "A",
    cores: 2,
    memoryGiB: 24,
    kernel: "6.18",
    node: "24.1.0",
    postgres: "18.4",
    runtime: "bubblewrap"
  },
  benches
})

describe("the table of headline figures", () => {
  it("shows each figure with its aim, and a benchmark that failed", () => {
    const rate: Headline = { name: "rate", unit: "/s", better: "higher", values: [21_345], aim: { value: 35_000 } }
    const table = headlineTable(
      run(result("sandbox", { headlines: [create, rate] }), result("http", { failure: "ended with 1" }))
    )
    assert.strictEqual(
      `\n${table}\n`,
      `
| figure       |       p50 | the other side | ratio | aim                  | reached | spread       |
| ------------ | --------: | -------------- | ----: | -------------------- | ------- | ------------ |
| create       |     20 ms | 84 ms, bare    |  0.25 | ≤ 20 ms, ratio ≤ 0.2 | no      | 19–21        |
| rate         | 21,345 /s |                |       | ≥ 35,000 /s          | no      | –            |
| http: failed |           |                |       |                      | no      | ended with 1 |
`
    )
  })

  it("numbers have three digits that count", () => {
    assert.deepStrictEqual([0.123456, 1.5, 20.44, 123.4, 21_345.6, 0].map(shown), [
      "0.123",
      "1.5",
      "20.4",
      "123",
      "21,346",
      "0"
    ])
  })

  it("names every day and commit of the figures", () => {
    const text = (...benches: ReadonlyArray<BenchResult>) => measuredText(run(...benches)).replace(/ on: .*/, "")
    assert.strictEqual(text(result("a"), result("b")), "Measured on 2026-11-26 (commit abc)")
    const earlier = result("b", { at: "2026-11-25T23:59:59.000Z", commit: "abd" })
    assert.strictEqual(text(result("a"), earlier), "Measured from 2026-11-25 to 2026-11-26 (commits abc, abd)")
  })
})

describe("an aim is reached", () => {
  it("by the value and by the ratio, if it has both", () => {
    assert.strictEqual(isReached(create), false)
    assert.strictEqual(isReached({ ...create, aim: { value: 20, ratio: 0.25 } }), true)
    assert.strictEqual(isReached({ ...create, aim: { value: 19, ratio: 0.25 } }), false)
  })

  it("in the direction that is better", () => {
    const rate = { ...create, better: "higher" as const }
    assert.strictEqual(isReached({ ...rate, aim: { value: 20 } }), true)
    assert.strictEqual(isReached({ ...rate, aim: { value: 21 } }), false)
    assert.strictEqual(isReached({ ...create, aim: {} }), null)
  })

  it("a ratio without another side is not", () => {
    const { other: _, ...alone } = create
    assert.strictEqual(isReached({ ...alone, aim: { ratio: 9 } }), false)
  })
})

describe("rounds", () => {
  it("have their median, and the middle eight tenths as spread", () => {
    assert.deepStrictEqual(roundsOf([4, 1, 3, 2]), { p50: 2.5, low: 1, high: 4, count: 4 })
    const [low, ...many] = Array.from({ length: 20 }, (_, at) => at)
    assert.deepStrictEqual(roundsOf([low!, ...many]), { p50: 9.5, low: 2, high: 17, count: 20 })
  })

  it("are made of single measurements in their order, none left out", () => {
    assert.deepStrictEqual(inRounds([1, 2, 9, 3, 4, 5, 6], 2), [2, 4.5])
    assert.deepStrictEqual(inRounds([1, 2], 5), [1, 2])
  })
})

describe("the lines of a benchmark", () => {
  const line = (figure: object) => JSON.stringify({ ...create, ...figure })

  it("are its figures", () => {
    assert.deepStrictEqual(headlinesIn(`${line({})}\n`), [create])
    assert.deepStrictEqual(headlinesIn(""), [])
  })

  it("are refused without a value, with one that is not finite, or with another number of the other side's", () => {
    for (const figure of [{ values: [] }, { values: [Number.NaN, 1, 2] }, { values: [1, 2] }])
      assert.throws(() => headlinesIn(line(figure)))
  })

  it("are refused if two figures have one name", () => {
    assert.throws(() => headlinesIn(`${line({})}\n${line({ unit: "s" })}`), 'Two figures are named "create"')
  })
})

describe("a later run", () => {
  it("replaces the benchmarks that it ran, failed ones too, and leaves the others", () => {
    const [http, sandbox] = [result("http", { headlines: [create] }), result("sandbox")]
    const failed = result("http", { failure: "ended with 1" })
    assert.deepStrictEqual(merged(run(http, sandbox), run(failed)).benches, [failed, sandbox])
    assert.deepStrictEqual(merged(run(sandbox), run(failed)).benches, [failed, sandbox])
  })
})
