/** The READMEs of both libraries list everything public, each name once, and nothing else. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { listedNames, pythonNames, typescriptNames } from "../../support/clients/publicNames.ts"

const readme = (client: string) =>
  readFileSync(join(import.meta.dirname, "../../../clients", client, "README.md"), "utf8")

describe("the README", () => {
  for (const [client, names] of [
    ["typescript", typescriptNames],
    ["python", pythonNames]
  ] as const) {
    it(`of the ${client} library lists every public name once, with a line about it`, () => {
      const listed = listedNames(readme(client))
      assert.isAbove(listed.length, 100)
      assert.deepStrictEqual(
        listed.filter((name, at) => listed.indexOf(name) !== at),
        [],
        "listed twice"
      )
      const expected = names()
      assert.deepStrictEqual(
        expected.filter((name) => !listed.includes(name)),
        [],
        "not listed"
      )
      assert.deepStrictEqual(
        listed.filter((name) => !expected.includes(name)),
        [],
        "does not exist"
      )
    })
  }
})

describe("the page for users of other services", () => {
  it("names only calls that the library has", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/coming-from.md"), "utf8")
    const ours = page
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) => line.split(" | ").at(-1)!)
    const calls = ours.flatMap((cell) => [...cell.matchAll(/`((?:atoll|sandbox|operation)\.[\w.]+)/g)])
    assert.isAbove(calls.length, 25)
    const known = typescriptNames()
    for (const [, name] of calls) assert.include(known, name!)
  })
})
