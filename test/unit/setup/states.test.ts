import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { stateComparisons } from "../../../scripts/states/rules.ts"

describe("the rule about names of states", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-states-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const found = (text: string, path = "src/sandbox/A.ts"): ReadonlyArray<string> => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    return stateComparisons(folder).comparisons.map(({ line, name }) => `${line} ${name}`)
  }

  const breaches: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["a comparison", 'export const a = (status: string) => status === "running"', ["1 running"]],
    ["a comparison the other way around", 'export const a = (b: { c: string }) => "gone" !== b.c', ["1 gone"]],
    [
      "a case",
      'export const a = (s: string) => {\n  switch (s) {\n    case "queued":\n      return 1\n  }\n}',
      ["3 queued"]
    ],
    ["a list of names", 'export const a = ["stopped", "sleeping"]', ["1 stopped", "1 sleeping"]],
    ["a list that adds a name", 'export const a = (b: string[]) => [...b, "pending"]', ["1 pending"]],
    ["a question to a collection", 'export const a = (b: Set<string>) => b.has("deleted")', ["1 deleted"]],
    ["SQL", "export const a = `select 1 from actors\n  where status = 'lost'`", ["2 lost"]],
    [
      "a comparison in a page",
      'export const A = ({ s }: { s: string }) => (s === "failed" ? <b /> : null)',
      ["1 failed"]
    ]
  ]
  for (const [what, text, expected] of breaches) {
    it(`finds ${what}`, () => {
      assert.deepStrictEqual(found(text, what.includes("page") ? "src/console/pages/A.tsx" : undefined), expected)
    })
  }

  const allowed: ReadonlyArray<readonly [string, string, string?]> = [
    ["a word that is no state's name", 'export const a = (b: string) => b === "begun"'],
    ["a list of other words with one of them", 'export const a = ["unlimited", "prepaid"]'],
    ["the kind of billing", 'export const a = (b: { billing: string }) => b.billing === "unlimited"'],
    ["a state that is given", 'export const a = { status: "ready" }'],
    ["a driver's machine", 'export const a = (b: { state: string }) => b.state === "running"', "src/host/qemu/A.ts"]
  ]
  for (const [what, text, path] of allowed) {
    it(`allows ${what}`, () => assert.deepStrictEqual(found(text, path), []))
  }

  it("names a useless exception", () => {
    found('export const a = (b: { billing: string }) => b.billing === "unlimited"')
    const { unused } = stateComparisons(folder)
    assert.include(unused, "src/host/")
    assert.notInclude(unused, "billing")
  })
})
