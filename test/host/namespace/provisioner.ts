/** A service that boots one Sandbox, stops it and destroys it, over and over, until it is killed: a program of its own for restart.test.ts. */
import { Effect } from "effect"
import { NamespaceHost } from "../../../src/host/namespace/NamespaceHost.ts"
import { sandboxSpec } from "../../runtime/contract/sandboxSpec.ts"

const host = await NamespaceHost.open({
  dataDir: process.argv[2]!,
  processesMax: 256,
  parallelStarts: 2,
  diskReserveBytes: 0,
  run: Effect.runPromise
})
console.log("up")
for (let generation = 1; ; generation += 2) {
  await host.provision(sandboxSpec("victim", { generation }))
  console.log(`booted ${generation}`)
  await host.stop("victim", generation)
  await host.provision(sandboxSpec("victim", { generation: generation + 1 }))
  await host.destroy("victim")
}
