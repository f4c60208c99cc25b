import { execFileSync, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import {
  type CgroupHost,
  CgroupsExhausted,
  cgroupNames,
  detectCgroups,
  makeCgroups,
  releaseCgroups,
  removeCgroups
} from "../../../../src/host/linux/cgroups.ts"
import { goneWithin } from "../../../../src/host/linux/ProcessIdentity.ts"

const isRoot = process.getuid?.() === 0
const usable = isRoot && detectCgroups("atoll", false).v2 !== null

const lend = async (body: (host: CgroupHost, v2: string) => Promise<void>) => {
  const host = detectCgroups(`atoll-test-${randomUUID().slice(0, 8)}`, true)
  try {
    await body(host, host.v2!)
  } finally {
    await releaseCgroups(host)
    expect(existsSync(host.v2!)).toBe(false)
  }
}

describe.skipIf(!usable)("cgroups", () => {
  it("deeper than the longest path are removed", () =>
    lend(async (host, v2) => {
      mkdirSync(join(v2, "deep"))
      const code = `import os\nos.chdir(${JSON.stringify(join(v2, "deep"))})\nfor _ in range(40):\n  os.mkdir("d"*200); os.chdir("d"*200)`
      execFileSync("python3", ["-c", code])
      expect(await removeCgroups(host, "deep")).toBe(true)
      expect(existsSync(join(v2, "deep"))).toBe(false)
    }))

  it("are listed while they hold a process at any depth, and are removed with it", () =>
    lend(async (host, v2) => {
      mkdirSync(join(v2, "busy", "below"), { recursive: true })
      mkdirSync(join(v2, "idle"))
      const child = spawn("sleep", ["600"], { stdio: "ignore" })
      const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)))
      writeFileSync(join(v2, "busy", "below", "cgroup.procs"), String(child.pid))
      expect(cgroupNames(host, () => true)).toEqual(["busy"])
      expect(cgroupNames(host, (name) => name !== "busy")).toEqual([])
      expect(await goneWithin(async () => !(await removeCgroups(host, "busy")), 10_000)).toBe(true)
      expect(await ended).toBe("SIGKILL")
      expect(await removeCgroups(host, "idle")).toBe(true)
      expect(await removeCgroups(host, "never")).toBe(true)
    }))

  it("one that the kernel refuses is reported as that, and not as a missing folder", () =>
    lend(async (host, v2) => {
      const limits = { memoryBytes: 256 * 1024 ** 2, vcpus: 1, processes: 10 }
      writeFileSync(join(v2, "cgroup.max.descendants"), "1")
      for (const owner of [0, null]) {
        await makeCgroups(host, "first", limits, null)
        await expect(makeCgroups(host, "second", limits, owner)).rejects.toBeInstanceOf(CgroupsExhausted)
        expect(await removeCgroups(host, "first")).toBe(true)
        // The Sandbox's folder fits, and the one for its agent does not.
        if (owner !== null)
          await expect(makeCgroups(host, "second", limits, owner)).rejects.toBeInstanceOf(CgroupsExhausted)
        expect(await removeCgroups(host, "second")).toBe(true)
      }
      writeFileSync(join(v2, "cgroup.max.descendants"), "max")
      expect((await makeCgroups(host, "first", limits, 0)).delegated).toBe(join(v2, "first", "tree"))
      expect(await removeCgroups(host, "first")).toBe(true)
    }))

  it("have a limit for socket buffers where these have a separate counter", () =>
    lend(async (host) => {
      const { memory } = host.v1
      if (memory === undefined) return
      const memoryBytes = 256 * 1024 ** 2
      await makeCgroups(host, "bounded", { memoryBytes, vcpus: 1, processes: 10 }, null)
      const limit = readFileSync(join(memory, "bounded", "memory.kmem.tcp.limit_in_bytes"), "latin1")
      expect(Number(limit)).toBe(memoryBytes / 8)
      expect(await removeCgroups(host, "bounded")).toBe(true)
    }))
})
