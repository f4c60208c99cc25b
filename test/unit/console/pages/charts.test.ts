/** What the pages know of the machines: what a machine says itself, and of its file what it does not. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { hostKind } from "../../../../src/console/pages/machine/hostKind.ts"
import { chartOf } from "../../../../src/console/pages/machine/Kind.ts"
import { kinds } from "../../../../src/console/pages/machine/kinds.ts"
import { drawnOf } from "../../../../src/statechart/drawn.ts"

it("is all that stands in the machine's file", () => {
  for (const { kind, machine, chart } of [...kinds, hostKind]) {
    const file = JSON.parse(readFileSync(join(import.meta.dirname, `../../../../docs/machines/${kind}.json`), "utf8"))
    assert.deepStrictEqual(chart, file)
    assert.deepStrictEqual(chartOf(machine, JSON.parse(JSON.stringify(drawnOf(file)))), file)
  }
})
