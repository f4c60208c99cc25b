/** A violation of a Sandbox whose machine has a planted fault, and its path in the life of the Sandbox. */
import { explore } from "../../../../src/proofs/explore/explore.ts"
import { actorPaths } from "../../../../src/proofs/explore/pathReport.ts"
import { faults } from "../../../proofs/faults/faults.ts"
import { ourMachines, productOf } from "../../../proofs/product/scopes.ts"

export const plantedPath = async () => {
  const { machine, scope } = faults[0]!
  const product = productOf(scope, { ...ourMachines, [machine.id]: machine })
  const { violations } = await explore(product, { depth: 4 })
  const violation = violations[0]!
  const path = actorPaths(violation.path).find(({ kind }) => kind === machine.id)!
  return { machine, violation, path }
}
