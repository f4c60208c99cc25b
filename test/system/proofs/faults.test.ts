/** An exploration finds each fault that is planted in a machine, by the invariant that it breaks. */
import { assert, describe, it } from "vitest"
import { explore } from "../../../src/proofs/explore/explore.ts"
import { violationText } from "../../../src/proofs/explore/summary.ts"
import { faults } from "../../proofs/faults/faults.ts"
import { ourMachines, productOf } from "../../proofs/product/scopes.ts"

/** What breaks liveness shows only at the end. */
const limits = { depth: 14, seconds: 6 }

describe("a planted fault is found", () => {
  it.each(faults.map((fault) => [fault.name, fault] as const))("%s", async (name, { machine, scope, breaks }) => {
    const product = productOf(scope, { ...ourMachines, [machine.id]: machine })
    const explored = await explore(product, limits)
    process.stdout.write(
      `${name}: ${explored.violations.map(({ depth, sentence }) => `after ${depth} steps, ${sentence}`)}\n`
    )
    assert.include(
      explored.violations.map(({ sentence }) => sentence),
      breaks,
      explored.violations.map(violationText).join("\n")
    )
  })
})

/** When the machine is mended this test fails: then it goes, together with `isForgottenGrant`. */
it("a fault that is known, a grant which outlives its Sandbox, is found", async () => {
  const explored = await explore(
    productOf("access", ourMachines, () => false),
    limits
  )
  assert.include(
    explored.violations.map(({ sentence }) => sentence),
    "A deletion ends without anybody's help: the Sandbox is deleted, the host empty, and what lived in it is over."
  )
})
