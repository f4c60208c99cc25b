/** The spawner, which starts the programs around Sandboxes, is killed: no Sandbox notices, and the service goes on with another one. */
import { readFileSync, rmSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { hasSpawner } from "../../../../src/host/linux/HostSpawner.ts"
import { goneWithin, isAlive, type ProcessIdentity, signal } from "../../../../src/host/linux/ProcessIdentity.ts"
import { dataFolder, isRoot, networkUnusable, skipped } from "../../../support/host/namespace/TestHost.ts"
import { lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { openHost, untilSpare } from "./openHost.ts"

const reason = networkUnusable ?? (isRoot && hasSpawner ? null : "Node starts these programs here")

const parentOf = ({ pid }: ProcessIdentity): number =>
  Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1])

describe.skipIf(skipped(reason))("the spawner", () => {
  it("is killed: Sandboxes and spares go on, a new one boots, and each end is still told", async () => {
    const folder = dataFolder()
    const host = await openHost(folder, 1)
    const said = (id: string) => Effect.runPromise(output(host.guest(id, 1)!, "grep -c tap0 /proc/net/dev"))
    try {
      const spec = (id: string) => sandboxSpec(id, { networkEnabled: true })
      await host.provision(spec("first"))
      await untilSpare(host)
      const [spare] = host.layout.spareNames()
      const { monitor, network } = host.layout.state("first").runtime()!
      const spawner = parentOf(monitor)
      expect(readFileSync(`/proc/${spawner}/cmdline`, "latin1")).toContain("spawner.x64")
      expect(parentOf(network!)).toBe(spawner)

      let wakes = 0
      host.watch(() => wakes++)
      process.kill(spawner, "SIGKILL")
      expect(await goneWithin(() => parentOf(monitor) === spawner, 10_000)).toBe(true)
      expect(await said("first")).toBe("1")
      expect(host.layout.spareNames()).toEqual([spare])
      await host.provision(spec("second"))
      expect(host.layout.nameOf("second")).toBe(spare)
      await untilSpare(host)
      expect(parentOf(host.layout.state(host.layout.spareNames()[0]!).runtime()!.monitor)).not.toBe(spawner)
      expect([await said("first"), await said("second"), isAlive(network!)]).toEqual(["1", "1", true])
      expect([host.look(), await host.mendNetworks(), wakes]).toEqual([[], [], 0])

      signal(host.layout.state("first").runtime()!.init!, "SIGKILL")
      expect(await goneWithin(() => wakes === 0, 10_000)).toBe(true)
      expect(host.look()).toMatchObject([{ sandboxId: "first", reason: { code: "CRASHED" } }])
    } finally {
      for (const id of ["first", "second"]) await host.destroy(id)
      await host.close()
      expect(await lastingTracesOf(folder)).toEqual([])
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
