import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { ruleFaults } from "../../../scripts/rules/checkRules.ts"
import type { Rule } from "../../../scripts/rules/Rule.ts"

describe("the table of rules", () => {
  let folder = ""
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-rules-"))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const sources = {
    "machines/door.ts":
      "// const ghost\nexport const door = setup({ states: { open: { on: { SHUT: 1 } } }, closed: {} })",
    "src/Door.ts": "export class Door {\n  static layer = () => {\n    const knock = 1\n    return knock\n  }\n}",
    "test/unit/door/door.test.ts": `describe("a door", () => { it.each(ways)(\`opens \${way}\`, open); it.effect("shuts", shut); note("is red") })`
  }
  const faultsOf = (decidedBy: Rule["decidedBy"], heldBy: Rule["heldBy"]): ReadonlyArray<string> => {
    for (const [path, text] of Object.entries(sources)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return ruleFaults(folder, [{ rule: "A door shuts.", decidedBy, heldBy }])
  }

  it.each([
    ["machines/door.ts#door", "door/door.test.ts#a door"],
    ["machines/door.ts#door.open.SHUT", "door/door.test.ts#shuts"],
    ["src/Door.ts#Door.layer.knock", "unit/door/door.test.ts#opens …"],
    ["src/Door.ts#knock", null]
  ] as const)("takes %s, held by %s", (decidedBy, heldBy) => {
    assert.deepStrictEqual(faultsOf(decidedBy, heldBy), [])
  })

  it.each([
    ["src/Gate.ts#gate", "door/door.test.ts#shuts", /no file src\/Gate\.ts/],
    ["machines/door.ts#ghost", "door/door.test.ts#shuts", /machines\/door\.ts does not declare ghost/],
    ["machines/door.ts#door.closed.SHUT", "door/door.test.ts#shuts", /does not declare door\.closed\.SHUT/],
    ["machines/door.ts#SHUT", "door/door.test.ts#shuts", /does not declare SHUT/],
    ["machines/door.ts#door", "door/window.test.ts#shuts", /no file of test\/ ends in \/door\/window\.test\.ts/],
    ["machines/door.ts#door", "oor/door.test.ts#shuts", /no file of test\/ ends in \/oor/],
    ["machines/door.ts#door", "door/door.test.ts#is red", /has no test or suite "is red".*rule "A door shuts\."/]
  ] as const)("refuses %s, held by %s", (decidedBy, heldBy, expected) => {
    const faults = faultsOf(decidedBy, heldBy)
    assert.strictEqual(faults.length, 1, faults.join("\n"))
    assert.match(faults[0]!, expected)
  })
})
