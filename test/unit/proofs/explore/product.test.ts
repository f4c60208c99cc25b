/** A short exploration of each product of the machines; `test/system/proofs/` has the long one, and the faults that it must find. */
import { assert, describe, it } from "vitest"
import { explore } from "../../../../src/proofs/explore/explore.ts"
import { violationText } from "../../../../src/proofs/explore/summary.ts"
import { faults } from "../../../proofs/faults/faults.ts"
import { ourMachines, productOf, scopeNames } from "../../../proofs/product/scopes.ts"

/** Three seconds for all. */
const depth = 4

describe("explored", () => {
  it.each(scopeNames)("%s breaks no invariant", async (name) => {
    const { states, violations } = await explore(productOf(name), { depth: name === "whole" ? 1 : depth })
    assert.deepStrictEqual(violations.map(violationText), [])
    assert.isAbove(states, 50)
  })
})

it("finds a state that does not take a DELETE", async () => {
  const { machine, scope, breaks } = faults.find(({ name }) => name === "no DELETE in sleep")!
  const { violations } = await explore(productOf(scope, { ...ourMachines, [machine.id]: machine }), { depth })
  assert.deepStrictEqual(
    violations.map(({ sentence, depth }) => [sentence, depth]),
    [[breaks, depth + 1]],
    "boots, posts, sleeps, posts, is not deleted"
  )
})
