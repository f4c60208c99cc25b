/** What the agent says last is in the log, however soon its Sandbox is stopped after its end. */
import { appendFileSync, rmSync } from "node:fs"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isAlive } from "../../../../src/host/linux/ProcessIdentity.ts"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"
import { dataFolder, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilSeen } from "../../../support/until.ts"

const open = (dataDir: string) =>
  NamespaceHost.open({
    ...{ dataDir, processesMax: 256, parallelStarts: 1, diskReserveBytes: 0 },
    run: Effect.runPromise
  })

describe.skipIf(skipped(unusable) || !isRoot)("the console of a Sandbox that ends by itself", () => {
  const folder = dataFolder()
  let host: NamespaceHost
  beforeAll(async () => {
    host = await open(folder)
  })
  afterAll(async () => {
    for (const { sandboxId } of host.inventory()) await host.destroy(sandboxId)
    await host.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const said = () => {
    const chunks = host.readConsoles()
    return chunks.map(({ bytes, ...of }) => ({ ...of, text: Buffer.from(bytes).toString() }))
  }
  /** Its agent says this, and is killed. */
  const crash = (sandboxId: string, words: string) => {
    const { pid } = host.layout.state(sandboxId).runtime()!.agent!
    appendFileSync(`/proc/${pid}/fd/2`, words)
    process.kill(pid, "SIGKILL")
  }

  it("is read to its end, before a stop unmounts its volume", async () => {
    await host.provision(sandboxSpec("crashed"))
    const [ready] = said()
    expect(ready).toMatchObject({ sandboxId: "crashed", generation: 1, offset: 0 })
    // The console is quiet now, and its next write watched.
    expect(said()).toEqual([])
    crash("crashed", "why it crashed")
    await untilSeen(
      () => host.look(),
      (downs) => downs.length > 0
    )
    await host.stop("crashed", 1)
    expect(said()).toEqual([
      { sandboxId: "crashed", generation: 1, offset: ready!.text.length, text: "why it crashed" }
    ])
    expect(said()).toEqual([])
  })

  it("is read by the next service, when it ended while none ran", async () => {
    await host.provision(sandboxSpec("alone"))
    const { init, monitor } = host.layout.state("alone").runtime()!
    await host.close()
    crash("alone", "why it crashed")
    for (const it of [init!, monitor])
      await untilSeen(
        () => isAlive(it),
        (alive) => !alive
      )
    host = await open(folder)
    expect(said()).toEqual([
      { sandboxId: "alone", generation: 1, offset: 0, text: expect.stringMatching(/agent ready.*why it crashed$/s) }
    ])
  })
})
