/** Sandboxes that are started ahead: what a new Sandbox gets, when they give way, and what becomes of them. */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { isAlive } from "../../../../src/host/linux/ProcessIdentity.ts"
import { isSpareName, newSpareName } from "../../../../src/host/linux/SandboxRecords.ts"
import { HostLayout } from "../../../../src/host/namespace/HostLayout.ts"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"
import type { NamespaceOptions } from "../../../../src/host/namespace/NamespaceOptions.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import {
  dataFolder,
  driverOn,
  isRoot,
  networkUnusable,
  skipped,
  unusable
} from "../../../support/host/namespace/TestHost.ts"
import { lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { until } from "../../../support/until.ts"
import { untilKilled } from "../../../support/untilKilled.ts"

const MiB = 1024 ** 2

const open = (dataDir: string, options: Partial<NamespaceOptions> = {}) =>
  NamespaceHost.open({
    dataDir,
    processesMax: 256,
    parallelStarts: 4,
    diskReserveBytes: 0,
    spares: 1,
    run: Effect.runPromise,
    ...options
  })

/** Spares whose agent has answered. */
const readyIn = (dataDir: string): ReadonlyArray<string> => {
  const layout = HostLayout.at(dataDir)
  return layout.spareNames().filter((name) => (layout.state(name).runtime()?.init ?? null) !== null)
}

const untilReady = (dataDir: string, count = 1) =>
  Effect.runPromise(
    until(
      Effect.sync(() => readyIn(dataDir)),
      (names) => names.length === count
    )
  )

const initOf = (dataDir: string, name: string) => HostLayout.at(dataDir).state(name).runtime()?.init ?? null

const said = (host: NamespaceHost, sandboxId: string, script: string, generation = 1) =>
  Effect.runPromise(output(host.guest(sandboxId, generation)!, script))

/** Lends a data folder; nothing of it is left on the host afterwards. */
const onFolder = async (body: (folder: string) => Promise<void>) => {
  const folder = dataFolder()
  try {
    await body(folder)
  } finally {
    const host = await open(folder, { spares: 0 })
    await host.spares.endOrphans()
    for (const { sandboxId } of host.inventory()) await host.destroy(sandboxId)
    await host.close()
    expect(await lastingTracesOf(folder)).toEqual([])
    rmSync(folder, { recursive: true, force: true })
  }
}

describe.skipIf(skipped(unusable))("a Sandbox that was started ahead", () => {
  it("becomes a new Sandbox with its own user and an empty volume, and keeps its files over a stop", () =>
    onFolder(async (folder) => {
      const host = await open(folder)
      await host.prepare(sandboxSpec("any"))
      const inits = new Map<string, number | undefined>()
      for (const id of ["first", "second"]) {
        const [spare] = await untilReady(folder)
        const pid = initOf(folder, spare!)?.pid
        expect(host.inventory().filter(({ sandboxId }) => isSpareName(sandboxId))).toEqual([])
        await host.provision(sandboxSpec(id))
        expect(initOf(folder, id)?.pid).toBe(pid)
        expect(existsSync(host.layout.state(spare!).folder)).toBe(false)
        expect(await said(host, id, "ls -A /workspace /tmp; touch mine; pwd")).toBe("/tmp:\n\n/workspace:\n/workspace")
        expect(host.sample(id, 1)?.memoryBytes).toSatisfy((it: number | null) => !isRoot || (it ?? 0) > 0)
        inits.set(id, pid)
      }
      expect(new Set(inits.values()).size).toBe(2)
      const users = ["first", "second"].map((id) => host.layout.state(id).spec()?.uid)
      expect(new Set(users).size).toBe(isRoot ? 2 : 1)
      expect(host.inventory().toSorted((a, b) => a.sandboxId.localeCompare(b.sandboxId))).toEqual([
        { sandboxId: "first", state: "running", generation: 1 },
        { sandboxId: "second", state: "running", generation: 1 }
      ])

      await host.stop("first", 1)
      expect(host.inventory()).toContainEqual({ sandboxId: "first", state: "volume", generation: null })
      await host.provision(sandboxSpec("first", { generation: 2 }))
      expect(await said(host, "first", "ls", 2)).toBe("mine")
      expect(await said(host, "second", "ls")).toBe("mine")
      await host.destroy("first")
      expect(await said(host, "second", "ls")).toBe("mine")
      await host.close()
      expect(host.layout.spareNames()).toEqual([])
    }))

  it.skipIf(networkUnusable !== null)("has a network if one is wanted, and no Sandbox without gets it", () =>
    onFolder(async (folder) => {
      const host = await open(folder)
      await host.prepare(sandboxSpec("any", { networkEnabled: true }))
      await untilReady(folder)
      const [spare] = readyIn(folder)
      await host.provision(sandboxSpec("offline"))
      expect(readyIn(folder)).toContain(spare)
      expect(await said(host, "offline", "ls /sys/class/net 2> /dev/null; cat /proc/net/route | wc -l")).toMatch(/^1$/m)
      await host.provision(sandboxSpec("online", { networkEnabled: true }))
      expect(existsSync(host.layout.state(spare!).folder)).toBe(false)
      expect(await said(host, "online", "grep -c tap0 /proc/net/dev")).toBe("1")
      // Its helper carries the spare's name, and ends with the Sandbox.
      const { network } = host.layout.state("online").runtime()!
      await host.stop("online", 1)
      expect(isAlive(network!)).toBe(false)
      await host.close()
    })
  )

  it("is left to the next one if it ended, and a later generation never gets one", () =>
    onFolder(async (folder) => {
      const host = await open(folder)
      await host.prepare(sandboxSpec("any"))
      const [spare] = await untilReady(folder)
      const init = initOf(folder, spare!)!
      process.kill(init.pid, "SIGKILL")
      await host.provision(sandboxSpec("first"))
      expect(await said(host, "first", "echo well")).toBe("well")
      expect(initOf(folder, "first")?.pid).not.toBe(init.pid)

      const [next] = await untilReady(folder)
      await host.provision(sandboxSpec("later", { generation: 2 }))
      expect(initOf(folder, next!)).not.toBeNull()
      expect(host.layout.nameOf("later")).toBe("later")
      await host.close()
    }))

  it("that fails after it was handed over ends, and its Sandbox boots as if there had been none", () =>
    onFolder(async (folder) => {
      const host = await open(folder)
      await host.prepare(sandboxSpec("any"))
      // The last step of a handover fails once; then an agent no longer answers.
      const { volumes } = host.layout
      const note = volumes.note.bind(volumes)
      const unnoted = async (id: string) => {
        Object.assign(volumes, { note })
        throw new Error(`The register of ${id} is full.`)
      }
      for (const id of ["unnoted", "silent"]) {
        const [spare] = await untilReady(folder)
        const { init, agent } = host.layout.state(spare!).runtime()!
        if (id === "unnoted") Object.assign(volumes, { note: unnoted })
        else process.kill(agent!.pid, "SIGSTOP")
        await host.provision(sandboxSpec(id))
        expect(isAlive(init!)).toBe(false)
        expect(initOf(folder, id)?.pid).not.toBe(init!.pid)
        expect(await said(host, id, "echo well; ls -A")).toBe("well")
        expect(host.inventory()).toContainEqual({ sandboxId: id, state: "running", generation: 1 })
      }
      await host.close()
    }))

  it.live.skipIf(!isRoot)("gives way to a Sandbox that needs its room", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
          Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        // As in fullDisk.test.ts: room for two volumes.
        const disk = yield* smallDisk(folder, 500 * MiB)
        yield* Effect.promise(async () => {
          const host = await open(disk, { diskReserveBytes: 150 * MiB })
          const spec = (id: string, memoryMiB: number) =>
            sandboxSpec(id, { volumeBytes: 128 * MiB, memoryBytes: memoryMiB * MiB })
          await host.prepare(spec("any", 256))
          await untilReady(disk)
          // Of another shape, for which there is no spare.
          await host.provision(spec("first", 128))
          await untilReady(disk)
          await host.provision(spec("second", 128))
          expect(readyIn(disk)).toEqual([])
          await expect(host.provision(spec("third", 128))).rejects.toThrow(/needed/)
          for (const id of ["first", "second"]) await host.destroy(id)
          await host.close()
        })
      })
    )
  )

  it("of a killed process ends at the next look, and one of a living process does not", () =>
    onFolder(async (folder) => {
      const living = await open(folder)
      await living.prepare(sandboxSpec("any"))
      const [kept] = await untilReady(folder)
      const killed = () => untilKilled(join(import.meta.dirname, "fixtures/killedWithSpare.ts"), [folder])
      expect(await killed()).toBeNull()
      expect(readyIn(folder)).toHaveLength(2)
      const other = await open(folder, { spares: 0 })
      await other.spares.endOrphans()
      expect(readyIn(folder)).toEqual([kept])
      expect(other.inventory()).toEqual([])
      // A process that only ends, as the one of `atoll down`, takes them along, too.
      expect(await killed()).toBeNull()
      const ending = await open(folder, { spares: 0 })
      await ending.close()
      expect(readyIn(folder)).toEqual([kept])
      await living.provision(sandboxSpec("first"))
      expect(await said(other, "first", "echo well")).toBe("well")
      // It was handed over: no process takes it for a spare.
      await other.spares.endOrphans()
      expect(await said(living, "first", "echo well")).toBe("well")
      await other.close()
      await living.close()
    }))

  it("whose folder is lost is listed, and ends when it is destroyed", () =>
    onFolder(async (folder) => {
      const host = await open(folder)
      await host.prepare(sandboxSpec("any"))
      const [spare] = await untilReady(folder)
      const init = initOf(folder, spare!)!
      await host.provision(sandboxSpec("first"))
      const lost = host.layout.state("first").folder
      // The console of a Sandbox that was started ahead is mounted there: see ownConsole.ts.
      if (existsSync(join(lost, "console"))) execFileSync("umount", ["-l", join(lost, "console")])
      rmSync(lost, { recursive: true })
      expect(host.inventory()).toEqual([{ sandboxId: spare, state: "running", generation: 1 }])
      await host.destroy(spare!)
      expect(isAlive(init)).toBe(false)
      expect(host.inventory()).toEqual([])
      await host.destroy("first")
      await host.close()
    }))

  it.live("is made by the driver itself, as the settings say, and ends with it", () =>
    Effect.gen(function* () {
      const folder = dataFolder()
      const kinds = networkUnusable === null ? 2 : 1
      const made = Effect.gen(function* () {
        const driver = yield* Runtime
        yield* until(
          Effect.sync(() => readyIn(folder)),
          (names) => names.length === kinds
        )
        expect(yield* driver.inventory).toEqual([])
      })
      const settings = { ATOLL_SPARES: "1", ATOLL_SANDBOX_MEMORY_BYTES: String(256 * MiB) }
      yield* Effect.provide(made, driverOn(folder, { ...settings, ATOLL_VOLUME_BYTES: String(64 * MiB) }))
      expect(readdirSync(join(folder, "runtime", "namespace")).filter(isSpareName)).toEqual([])
      expect(yield* Effect.promise(() => lastingTracesOf(folder))).toEqual([])
      rmSync(folder, { recursive: true, force: true })
    })
  )

  it("has a name that no Sandbox can have", () => {
    expect(isSpareName(newSpareName())).toBe(true)
    for (const name of ["spare.", "spare.0123456789abcdeX", "spare.0123456789abcdef/..", "sbx_1", "../spare", ""]) {
      expect(isSpareName(name)).toBe(false)
    }
  })
})
