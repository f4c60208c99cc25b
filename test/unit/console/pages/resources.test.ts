/** What was measured, as a chart has it: a column each, and null where nothing was. */
import { assert, it } from "@effect/vitest"
import { analyticsSamplesMax } from "../../../../schemas/Limits.ts"
import {
  columnOf,
  isolatedIn,
  newestMeasured,
  type Sample
} from "../../../../src/console/pages/sandbox/resources/series.ts"
import { ranges, windowOf } from "../../../../src/console/pages/sandbox/resources/window.ts"

const sample = (at: number, measured: Partial<Sample>): Sample => ({
  at: new Date(at).toISOString(),
  cpuSeconds: null,
  memoryBytes: null,
  volumeBytes: null,
  networkRxBytes: null,
  networkTxBytes: null,
  ...measured
})

it("what was not measured is null in the chart's data, and zero is zero", () => {
  const samples = [
    sample(0, { cpuSeconds: 0 }),
    sample(60, { memoryBytes: 5 }),
    sample(120, { cpuSeconds: 1.5 }),
    sample(180, {})
  ]
  assert.deepStrictEqual(columnOf(samples, "cpuSeconds"), [0, null, 1.5, null])
  assert.deepStrictEqual(columnOf(samples, "networkRxBytes"), [null, null, null, null])
  assert.strictEqual(newestMeasured(samples), 2)
  assert.strictEqual(newestMeasured([sample(0, {})]), null)
})

it("a point between gaps is drawn as a point, for no line leads to it", () => {
  assert.deepStrictEqual(isolatedIn([1, null, 2, 3, null, 0]), [0, 5])
  assert.deepStrictEqual(isolatedIn([null, 4, null]), [1])
  assert.deepStrictEqual(isolatedIn([1, 2, 3]), [])
})

it("every window fits an answer of the service, and begins with a whole bucket", () => {
  const now = Date.parse("2026-11-22T08:31:07.123Z")
  const years = { createdAt: "2023-02-28T23:59:59.999Z", deletedAt: null }
  for (const life of [
    { createdAt: "2026-11-22T08:31:06.900Z", deletedAt: null },
    { createdAt: "2026-11-01T00:00:00.000Z", deletedAt: null },
    years,
    { createdAt: "2026-11-01T00:00:00.000Z", deletedAt: "2026-11-01T00:00:00.000Z" }
  ]) {
    for (const name of Object.keys(ranges) as Array<keyof typeof ranges>) {
      const { from, to, resolutionSeconds } = windowOf(name, life, now)
      const [begin, end] = [Date.parse(from), Date.parse(to)]
      assert.isBelow(begin, end, name)
      assert.isAtMost(Math.ceil((end - begin) / 1000 / resolutionSeconds), analyticsSamplesMax, name)
      assert.isTrue(resolutionSeconds >= 60 && resolutionSeconds <= 86_400, name)
      assert.strictEqual(begin % (resolutionSeconds * 1000), 0, name)
      if (name === "all") assert.isAtMost(begin, Date.parse(life.createdAt), name)
    }
  }
})
