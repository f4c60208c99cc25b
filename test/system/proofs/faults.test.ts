/** An exploration finds each fault that is planted in a machine, by the invariant that it breaks. */
import { assert, describe, it } from "vitest"
import { explore } from "../../../src/proofs/explore/explore.ts"
import type { Outcomes } from "../../../src/proofs/explore/Product.ts"
import { violationText } from "../../../src/proofs/explore/summary.ts"
import { faults } from "../../proofs/faults/faults.ts"
import { plainSandboxCommands } from "../../proofs/product/sandboxCommands.ts"
import { ourMachines, productOf } from "../../proofs/product/scopes.ts"
import { sandboxOf, type World } from "../../proofs/product/World.ts"

describe("a planted fault is found", () => {
  it.each(faults.map((fault) => [fault.name, fault] as const))("%s", async (name, fault) => {
    const { machine, scope, breaks, depth, isPrompt } = fault
    const product = productOf(scope, { ...ourMachines, [machine.id]: machine })
    const explored = await explore(isPrompt ? { ...product, lateMax: 0 } : product, { depth })
    process.stdout.write(
      `${name}: ${explored.violations.map((found) => `after ${found.depth} steps, ${found.sentence}`)}\n`
    )
    assert.include(
      explored.violations.map(({ sentence }) => sentence),
      breaks,
      explored.violations.map(violationText).join("\n")
    )
  })
})

/** Of the service, not of a machine: a grant that is stored after its Sandbox closed what lived in it may elapse before it is confirmed. */
it("a grant that holds its connections without a look at its Sandbox is found", async () => {
  const product = productOf("access")
  const kinds = product.kinds.map((kind) =>
    kind.machine.id === "connectionGrant"
      ? {
          ...kind,
          commands: { ...kind.commands, holdConnections: { ...kind.commands["holdConnections"]!, outcomes: () => [] } }
        }
      : kind
  )
  const explored = await explore({ ...product, kinds }, { depth: 9 })
  assert.include(
    explored.violations.map(({ sentence }) => sentence),
    "What lives in a generation that has ended ends, too."
  )
})

it("a boot that does not wait for its Sandbox's snapshot is found", async () => {
  const product = productOf("fork")
  const kinds = product.kinds.map((kind) =>
    kind.machine.id === "sandbox" ? { ...kind, commands: plainSandboxCommands } : kind
  )
  const explored = await explore({ ...product, kinds, lateMax: 0 }, { depth: 3 })
  assert.include(
    explored.violations.map(({ sentence }) => sentence),
    "A volume is made only of a whole image of a snapshot that is not being made any more; by a first boot, of one that was ready."
  )
})

it("a build that does not wake its Sandbox is found", async () => {
  const product = productOf("build")
  const asleep =
    (outcomes: Outcomes<World>): Outcomes<World> =>
    (self, params, product) =>
      sandboxOf(product).tags.has("asleep") ? [] : outcomes(self, params, product)
  const kinds = product.kinds.map((kind) => {
    const command = kind.commands["buildImage"]
    return command === undefined
      ? kind
      : { ...kind, commands: { ...kind.commands, buildImage: { ...command, outcomes: asleep(command.outcomes) } } }
  })
  const explored = await explore({ ...product, kinds, lateMax: 0 }, { depth: 6 })
  assert.include(
    explored.violations.map(({ sentence }) => sentence),
    "A build begins its operation, and ends once that has ended."
  )
})
