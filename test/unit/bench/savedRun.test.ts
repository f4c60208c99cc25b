import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { readArguments } from "../../../bench/BenchArguments.ts"
import { type BenchRun, readRun, writeRun } from "../../../bench/BenchRun.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-run-"))
afterAll(() => rmSync(folder, { recursive: true }))

const run: BenchRun = {
  format: "atoll-bench/1",
  machine: { cpu: "A", cores: 2, memoryGiB: 24, kernel: "6", node: "24", postgres: "18", runtime: "bubblewrap" },
  benches: [
    {
      bench: "http",
      at: "2026-11-26T10:00:00.000Z",
      commit: "abc",
      failure: null,
      headlines: [{ name: "a", unit: "ms", better: "lower", values: [1, 2] }]
    },
    { bench: "scale", at: "2026-11-26T10:00:00.000Z", commit: "abc", failure: "ended with 1", headlines: [] }
  ]
}

describe("a saved run", () => {
  const path = join(folder, "run.json")

  it("is read as it was written", () => {
    writeRun(path, run)
    assert.deepStrictEqual(readRun(path), run)
  })

  it("is refused with a sentence if it is cut, of another format, foreign or missing", () => {
    const text = JSON.stringify(run)
    const foreign = [text.slice(0, -2), text.replace("bench/1", "bench/2"), "{}", "", "<html>", "[1]"]
    for (const content of foreign) {
      writeFileSync(path, content)
      assert.throws(
        () => readRun(path),
        `${path} is not a run that "npm run bench -- --save FILE" wrote, or is damaged.`
      )
    }
    assert.throws(() => readRun(join(folder, "none.json")), /none\.json cannot be read: ENOENT\./)
    assert.throws(() => readRun(folder), /cannot be read: EISDIR\./)
  })
})

describe("the words behind npm run bench", () => {
  const read = (...words: ReadonlyArray<string>) => readArguments(words, ["http", "scale"])
  const usage = "The benchmarks are http, scale; the options are --save FILE and --compare FILE."

  it("name benchmarks, each once, and files", () => {
    assert.deepStrictEqual(read(), { names: ["http", "scale"], save: null, compare: null })
    assert.deepStrictEqual(read("scale", "--save", "a", "http", "scale", "--compare", "b"), {
      names: ["scale", "http"],
      save: "a",
      compare: "b"
    })
  })

  it("are refused with the list if they are neither", () => {
    assert.strictEqual(read("htpp"), `There is no benchmark htpp. ${usage}`)
    assert.strictEqual(read("--sav", "a"), `There is no option --sav. ${usage}`)
    assert.strictEqual(read("--save"), `--save needs a file. ${usage}`)
    assert.strictEqual(read("--save", "--compare"), `--save needs a file. ${usage}`)
    assert.strictEqual(read("--save", "a", "--save", "b"), `--save stands twice. ${usage}`)
  })
})
