/** Several Atolls of one host, its other users, and each other's Sandboxes. */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { NamespaceHost } from "../../../../src/host/namespace/NamespaceHost.ts"
import type { NamespaceOptions } from "../../../../src/host/namespace/NamespaceOptions.ts"
import { dataFolder, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { instanceOf, lastingTracesOf } from "../../../support/host/namespace/traces.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { until } from "../../../support/until.ts"

const open = (dataDir: string, options: Partial<NamespaceOptions> = {}) =>
  NamespaceHost.open({
    dataDir,
    processesMax: 200,
    parallelStarts: 4,
    diskReserveBytes: 0,
    run: Effect.runPromise,
    ...options
  })

/** Lends data folders; nothing of them is left on the host afterwards. */
const onFolders = async (count: number, body: (folders: ReadonlyArray<string>) => Promise<void>) => {
  const folders = Array.from({ length: count }, dataFolder)
  try {
    await body(folders)
  } finally {
    for (const folder of folders) {
      const host = await open(folder)
      for (const { sandboxId } of host.inventory()) await host.destroy(sandboxId)
      await host.close()
      expect(await lastingTracesOf(folder)).toEqual([])
      expect(existsSync(join("/run", instanceOf(folder)))).toBe(false)
      await rm(folder, { recursive: true, force: true })
    }
  }
}

describe.skipIf(skipped(unusable))("several Atolls of one host", () => {
  it("a process that stops while there is no Sandbox takes nothing from another that goes on", () =>
    onFolders(1, async ([folder]) => {
      const [stays, stops] = [await open(folder!), await open(folder!)]
      await stops.close()
      await stays.provision(sandboxSpec("later"))
      expect(await Effect.runPromise(output(stays.guest("later", 1)!, "echo well"))).toBe("well")
      await stays.destroy("later")
      await stays.close()
      if (isRoot) expect(existsSync(join("/run", instanceOf(folder!)))).toBe(false)
    }))

  it("two processes that boot the same generation concurrently boot it once", () =>
    onFolders(1, async ([folder]) => {
      const hosts = [await open(folder!), await open(folder!)]
      const init = () => hosts[0]!.layout.state("contended").runtime()?.init?.pid
      for (let generation = 1; generation <= 4; generation++) {
        const boots = hosts.map(async (host, at) => {
          await sleep(at * 40 * (generation - 1))
          await host.provision(sandboxSpec("contended", { generation }))
          return init()
        })
        const [first, second] = await Promise.all(boots)
        expect(second).toBe(first)
        for (const host of hosts) {
          expect(await Effect.runPromise(output(host.guest("contended", generation)!, "echo well"))).toBe("well")
          expect(host.look()).toEqual([])
        }
      }
      await Promise.all(hosts.map((host) => host.destroy("contended")))
      for (const host of hosts) await host.close()
    }))

  it("a process that was frozen in a boot takes nothing from the one that booted it instead", () =>
    onFolders(1, async ([folder]) => {
      const warned: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ message }) => void warned.push(message))])
      const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(Effect.provide(effect, logger))
      const host = await open(folder!, { run, othersTimeoutMs: 100 })
      const program = fileURLToPath(new URL("fixtures/frozenBoot.ts", import.meta.url))
      const frozen = spawn(process.execPath, ["--no-warnings", program, folder!], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      try {
        const said = text(frozen.stdout)
        const stat = Effect.sync(() => readFileSync(`/proc/${frozen.pid}/stat`, "utf8"))
        await Effect.runPromise(until(stat, (it) => it.includes(") T ")))
        await host.provision(sandboxSpec("contended"))
        expect(String(warned)).toContain("contended")
        frozen.kill("SIGCONT")
        expect(await said).toBe("failed\n")
        expect(await Effect.runPromise(output(host.guest("contended", 1)!, "echo well"))).toBe("well")
        expect(host.look()).toEqual([])
      } finally {
        frozen.kill("SIGKILL")
      }
      await host.destroy("contended")
      await host.close()
    }))

  it.skipIf(!isRoot)("the last process does not remove what belongs to others, above all a mounted volume", () =>
    onFolders(1, async ([folder]) => {
      const host = await open(folder!)
      const volume = join("/run", instanceOf(folder!), "stray")
      execFileSync("mkdir", [volume])
      execFileSync("mount", ["-t", "tmpfs", "none", volume])
      try {
        execFileSync("touch", [join(volume, "file")])
        await host.close()
        expect(existsSync(join(volume, "file"))).toBe(true)
      } finally {
        execFileSync("umount", [volume])
      }
    })
  )

  it.skipIf(!isRoot)("two Atolls never give one user to two Sandboxes", () =>
    onFolders(2, async (folders) => {
      const hosts = [await open(folders[0]!), await open(folders[1]!)]
      await Promise.all(hosts.flatMap((host) => ["a", "b"].map((id) => host.provision(sandboxSpec(id)))))
      const uids = hosts.flatMap((host) => ["a", "b"].map((id) => host.layout.state(id).spec()?.uid))
      expect(new Set(uids).size).toBe(4)
      for (const host of hosts) await host.close()
    })
  )

  it.skipIf(!isRoot)("neither the host's other users nor another Sandbox's reach a Sandbox's files", () =>
    onFolders(1, async ([folder]) => {
      chmodSync(folder!, 0o755)
      const host = await open(folder!)
      await host.provision(sandboxSpec("private"))
      await Effect.runPromise(output(host.guest("private", 1)!, "umask 0; echo secret | tee /workspace/f /tmp/f"))
      const own = host.layout.state("private").spec()!.uid!
      const volume = join("/run", instanceOf(folder!), "private")
      const as = (uid: number, path: string) =>
        spawnSync("setpriv", [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "cat", path], { encoding: "utf8" })
      for (const file of ["workspace/f", "tmp/f"]) {
        for (const stranger of [65_534, own + 1]) expect(as(stranger, join(volume, file)).stdout).toBe("")
        // So the user is what matters.
        expect(as(own, join(volume, file)).stdout).toBe("secret\n")
      }
      for (const path of [volume, host.layout.state("private").folder]) expect(statSync(path).mode & 0o007).toBe(0)
      await host.close()
    })
  )
})
