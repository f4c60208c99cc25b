import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, it } from "vitest"
import type { Headline } from "../../../bench/Headline.ts"
import { runBench } from "../../../bench/RunBench.ts"

const sources = join(import.meta.dirname, "../../../bench/Headline.ts")
const folder = mkdtempSync(join(tmpdir(), "atoll-benches-"))
afterAll(() => rmSync(folder, { recursive: true }))

const figure: Headline = { name: "a", unit: "ms", better: "lower", values: [1] }

/** Runs a benchmark that states one figure and goes on with `more`. */
const ran = (more: string, stated: object = figure) => {
  writeFileSync(
    join(folder, "one.ts"),
    `import { headline } from ${JSON.stringify(sources)}\nheadline(${JSON.stringify(stated)})\n${more}`
  )
  const { failure, headlines } = runBench(folder, "one", "abc")
  return { failure, headlines }
}

it("a benchmark's figures reach the process that started it", () => {
  assert.deepStrictEqual(ran(""), { failure: null, headlines: [figure] })
  assert.deepStrictEqual(ran(`headline({ ...${JSON.stringify(figure)}, name: "b" })`), {
    failure: null,
    headlines: [figure, { ...figure, name: "b" }]
  })
})

it("a benchmark that fails, is killed or states a wrong figure has none, and says why", () => {
  assert.deepStrictEqual(ran("process.exit(3)"), { failure: "ended with 3", headlines: [] })
  assert.deepStrictEqual(ran('process.kill(process.pid, "SIGKILL")'), { failure: "ended by SIGKILL", headlines: [] })
  assert.deepStrictEqual(ran("", { ...figure, values: [null] }), { failure: "ended with 1", headlines: [] })
  assert.deepStrictEqual(ran(`headline(${JSON.stringify(figure)})`), {
    failure: 'Two figures are named "a"',
    headlines: []
  })
})

it("a benchmark that does not exist has failed", () => {
  assert.strictEqual(runBench(folder, "none", "abc").failure, "ended with 1")
})
