/** The processes of a machine on the host are bounded together, where the host has cgroups for it. */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { detectCgroups } from "../../../../src/host/linux/cgroups.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const isRoot = process.getuid?.() === 0
const hasCpu = isRoot && detectCgroups("atoll", false).enforced.cpu

/** Of each hierarchy, the cgroup that a process is in. */
const cgroupsOf = (pid: number): ReadonlyArray<string> =>
  readFileSync(`/proc/${pid}/cgroup`, "utf8")
    .split("\n")
    .filter((line) => /:(cpu|memory|pids|cpu,cpuacct|):/.test(line))

/** The processes of a Sandbox, as the driver on that folder has recorded them. */
const recordOf = (folder: string, sandboxId: string) =>
  JSON.parse(readFileSync(`${folder}/runtime/qemu/${sandboxId}/record.json`, "utf8")) as {
    process: { pid: number }
    network: { pid: number }
    uuid: string
  }

/** With a running machine that has a network. */
const testNetted = (
  title: string,
  body: (netted: {
    readonly driver: Runtime["Service"]
    readonly folder: string
  }) => Effect.Effect<unknown, unknown, Scope.Scope>
) =>
  it.live(
    title,
    () =>
      Effect.scoped(
        Effect.flatMap(scopedFolder, (folder) =>
          Effect.provide(
            Effect.gen(function* () {
              const driver = yield* Runtime
              if (!driver.capabilities.networkFiltered) return
              yield* driver.provision(sandboxSpec("netted", { networkEnabled: true }))
              yield* body({ driver, folder })
              yield* driver.destroy("netted")
            }),
            driverOn(folder)
          )
        )
      ),
    TIMEOUT_MS
  )

describe.skipIf(unusable !== null || !hasCpu)("the processes of a machine", () => {
  testNetted("QEMU and slirp4netns are in one cgroup of the machine's own, which goes with it", ({ driver, folder }) =>
    Effect.gen(function* () {
      const { process: qemu, network, uuid } = recordOf(folder, "netted")
      const groups = cgroupsOf(qemu.pid)
      expect(groups.length).toBeGreaterThan(0)
      for (const line of groups) expect(line.endsWith(`/${uuid}`)).toBe(true)
      yield* eventually(Effect.sync(() => String(cgroupsOf(network.pid)) === String(groups)))
      expect(readFileSync(`/proc/${network.pid}/limits`, "utf8")).toMatch(/Max open files\s+8192\s+8192/)
      // Another slirp4netns is bounded as the first one.
      process.kill(network.pid, "SIGKILL")
      const next = () => recordOf(folder, "netted").network.pid
      yield* eventually(Effect.sync(() => next() !== network.pid))
      yield* eventually(Effect.sync(() => String(cgroupsOf(next())) === String(groups)))
      yield* driver.destroy("netted")
      yield* eventually(Effect.sync(() => leftOf(uuid).length === 0))
    })
  )
})

describe.skipIf(unusable !== null || !isRoot)("a machine's network", () => {
  testNetted("is kept from an address that the host gets later", ({ folder }) =>
    Effect.gen(function* () {
      const { process: qemu } = recordOf(folder, "netted")
      const routes = () => execFileSync("nsenter", [`--net=/proc/${qemu.pid}/ns/net`, "ip", "route"]).toString()
      // Of an unassigned range (RFC 7526) that is not closed by default.
      const late = "192.88.99.77"
      expect(routes()).not.toContain(late)
      yield* Effect.acquireRelease(
        Effect.sync(() => execFileSync("ip", ["address", "add", `${late}/32`, "dev", "lo"])),
        () => Effect.sync(() => execFileSync("ip", ["address", "del", `${late}/32`, "dev", "lo"]))
      )
      yield* eventually(Effect.sync(() => routes().includes(`prohibit ${late}`)))
    })
  )
})

/** Cgroups of that name in any hierarchy. */
const leftOf = (uuid: string): ReadonlyArray<string> =>
  readdirSync("/sys/fs/cgroup").flatMap((hierarchy) =>
    readdirSync(`/sys/fs/cgroup/${hierarchy}`, { withFileTypes: true })
      .filter((it) => it.isDirectory() && it.name.startsWith("atoll-vm-"))
      .map(({ name }) => `/sys/fs/cgroup/${hierarchy}/${name}/${uuid}`)
      .filter((path) => existsSync(path))
  )
