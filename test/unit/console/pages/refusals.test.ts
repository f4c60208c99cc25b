import { assert, it } from "vitest"
import { statecharts } from "../../../../scripts/machines/files.ts"
import { refusalText } from "../../../../src/console/pages/machine/refusals.ts"

it("each reason for which a machine refuses an event has a sentence", () => {
  const codes = statecharts.flatMap(({ states }) => states.flatMap(({ refuses }) => Object.values(refuses)))
  const silent = [...new Set([...codes, "UNEXPECTED_EVENT"])].filter((code) => refusalText(code) === "")
  assert.deepStrictEqual(silent, [])
})
