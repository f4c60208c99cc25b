/** The views of lxcfs, with a real lxcfs and a real cgroup. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { detectCgroups, makeCgroups, releaseCgroups, removeCgroups } from "../../../../src/host/linux/cgroups.ts"
import { cgroupViews, lxcfsViews } from "../../../../src/host/linux/limitViews.ts"

const MiB = 1024 ** 2
const isUsable = process.getuid?.() === 0 && existsSync("/usr/bin/lxcfs") && existsSync("/dev/fuse")

describe.skipIf(!isUsable)("views of limits", () => {
  const mount = mkdtempSync(join(tmpdir(), "atoll-lxcfs-"))
  const cgroups = detectCgroups(basename(mount), true)
  let lxcfs: ChildProcess
  let joins: ReadonlyArray<string> = []

  beforeAll(async () => {
    lxcfs = spawn("lxcfs", ["-f", "-p", `${mount}.pid`, mount], { stdio: "ignore" })
    joins = (await makeCgroups(cgroups, "seen", { memoryBytes: 100 * MiB, vcpus: 1, processes: 50 }, 65_534)).joins
    while (lxcfsViews(mount).length === 0 && lxcfs.exitCode === null) await new Promise(setImmediate)
  })
  afterAll(async () => {
    const ended = new Promise((resolve) => lxcfs.once("exit", resolve))
    if (lxcfs.kill()) await ended
    spawnSync("umount", ["--lazy", mount], { stdio: "ignore" })
    removeCgroups(cgroups, "seen")
    releaseCgroups(cgroups)
    for (const path of [mount, `${mount}.pid`]) rmSync(path, { recursive: true, force: true })
  })

  /** The /proc file as the first process of a pid namespace reads it in the cgroup, as a Sandbox's does. */
  const inside = (command: string): string =>
    spawnSync(
      "sh",
      ["-c", `for join in ${joins.join(" ")}; do echo 0 > $join; done; exec unshare --pid --fork ${command}`],
      {
        encoding: "utf8"
      }
    ).stdout

  it("show the cgroup's memory where /proc shows the host's", () => {
    const view = lxcfsViews(mount).find(({ to }) => to === "/proc/meminfo")
    assert.isDefined(view)
    assert.match(inside(`cat ${view!.from}`), new RegExp(`^MemTotal: +${(100 * MiB) / 1024} kB$`, "m"))
  })

  it("are absent where lxcfs does not run", () => {
    assert.deepStrictEqual(lxcfsViews(`${mount}-absent`), [])
  })

  it("lead to the Sandbox's own cgroups, by the names that /proc/self/cgroup gives", () => {
    for (const { from, to } of cgroupViews(cgroups, "seen")) {
      assert.isTrue(existsSync(join(from, "cgroup.procs")), from)
      assert.match(to, /^\/sys\/fs\/cgroup(\/[a-z_,]+)?$/)
    }
  })
})
