/**
 * A service that boots one Sandbox, stops it and destroys it, over and over, until it is killed: a program for
 * restart.test.ts.
 */
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { openHost } from "./openHost.ts"

const host = await openHost(process.argv[2]!)
console.log("up")
for (let generation = 1; ; generation += 2) {
  await host.provision(sandboxSpec("victim", { generation }))
  console.log(`booted ${generation}`)
  await host.stop("victim", generation)
  await host.provision(sandboxSpec("victim", { generation: generation + 1 }))
  await host.destroy("victim")
}
