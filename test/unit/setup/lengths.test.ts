import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { type Lengths, lengthFaults } from "../../../scripts/lengths/rules.ts"

const lines = (count: number) => "\n".repeat(count)

/** `count` lines from the arrow's parameters to its closing brace. */
const functionOf = (count: number) => `() => {${lines(count - 1)}}`

describe("the length rules", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-lengths-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const plant = (path: string, text: string, remaining: Lengths = {}): ReadonlyArray<string> => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    return lengthFaults(folder, remaining)
  }

  it("allow a function of 80 lines and a file of 400", () => {
    assert.deepStrictEqual(plant("src/a/A.ts", `export const f = ${functionOf(80)}\n${lines(320)}`), [])
  })

  it("refuse a function of 81 lines, by the names around it", () => {
    assert.deepStrictEqual(
      plant("src/a/A.ts", `export class A {\n  static readonly layer = of(${functionOf(81)})\n}\n`),
      ["src/a/A.ts A.layer has 81 lines, and may have 80: make it pieces with names"]
    )
  })

  it("measure a method, a generator, a function of a component's file and a function in a function", () => {
    assert.match(plant("src/a/A.ts", `class A {\n  f() {${lines(80)}}\n}\n`).join(), /^src\/a\/A\.ts A\.f has 81 lines/)
    assert.match(plant("src/a/A.ts", `const g = gen(function* () {${lines(80)}})\n`).join(), /^src\/a\/A\.ts g has 81/)
    rmSync(join(folder, "src/a/A.ts"))
    assert.match(
      plant("src/a/B.tsx", `const B = () => {${lines(80)}return <p />}\n`).join(),
      /^src\/a\/B\.tsx B has 81/
    )
    rmSync(join(folder, "src/a/B.tsx"))
    const nested = `const outer = () => {\n const inner = ${functionOf(81)}\n}\n`
    assert.match(plant("src/a/C.ts", nested).join("\n"), /C\.ts outer has 83 .*\n.*C\.ts outer\.inner has 81/)
  })

  it("refuse a file of 401 lines", () => {
    assert.deepStrictEqual(plant("src/a/A.ts", lines(401)), [
      "src/a/A.ts has 401 lines, and may have 400: make it pieces with names"
    ])
  })

  it("measure a test's file, but not its functions", () => {
    assert.deepStrictEqual(plant("test/a/A.test.ts", `describe("a", ${functionOf(200)})`), [])
    assert.lengthOf(plant("test/a/A.test.ts", lines(401)), 1)
  })

  it("allow a listed length, and no more", () => {
    const text = `const f = ${functionOf(90)}\n`
    assert.deepStrictEqual(plant("src/a/A.ts", text, { "src/a/A.ts f": 90 }), [])
    assert.deepStrictEqual(plant("src/a/A.ts", text, { "src/a/A.ts f": 89 }), [
      "src/a/A.ts f has 90 lines, and may have 89: make it pieces with names"
    ])
  })

  it("refuse an entry that is short enough or gone", () => {
    assert.deepStrictEqual(plant("src/a/A.ts", `const f = ${functionOf(80)}\n`, { "src/a/A.ts f": 90 }), [
      "src/a/A.ts f is short enough, or gone: take it out of scripts/lengths/remaining.ts"
    ])
  })
})
