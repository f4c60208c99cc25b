import { execFileSync, spawnSync } from "node:child_process"
import { chownSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { dataFolder, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { instanceOf, processesOf } from "../../../support/host/namespace/traces.ts"

const UNPRIVILEGED = 65_534

const program = fileURLToPath(new URL("unprivileged.ts", import.meta.url))

/** Whether another user can read this repository and run this Node. */
const isOpen = (): boolean => {
  const identity = { uid: UNPRIVILEGED, gid: UNPRIVILEGED }
  const reads = spawnSync("test", ["-r", program], identity).status === 0
  return reads && spawnSync(process.execPath, ["--version"], identity).status === 0
}

const reason =
  unusable ??
  (isRoot ? (isOpen() ? null : "this folder is closed to other users") : "the whole suite runs without root already")

describe.skipIf(skipped(reason))("namespace driver without root", () => {
  it("a Sandbox boots, keeps its files, is confined, and is gone afterwards", () => {
    const folder = dataFolder()
    try {
      chownSync(folder, UNPRIVILEGED, UNPRIVILEGED)
      const printed = execFileSync(process.execPath, ["--no-warnings", program, folder], {
        encoding: "utf8",
        uid: UNPRIVILEGED,
        gid: UNPRIVILEGED,
        env: { PATH: process.env["PATH"], HOME: folder, TMPDIR: folder },
        timeout: 240_000
      })
      const told = JSON.parse(printed.trim().split("\n").at(-1)!)
      expect(told).toMatchObject({
        uid: UNPRIVILEGED,
        files: "kept",
        again: "kept",
        fresh: "",
        left: [],
        temporaryGone: true,
        volumeGone: true
      })
      expect(told.inside).toMatch(/^1000\nCapEff:\s+0+\nNoNewPrivs:\s+1\nSeccomp:\s+2$/)
      expect(told.interfaces).toBe(told.networkEnabled ? "lo\ntap0" : "lo")
      if (told.networkEnabled) expect(told.mended).toContain("had died and was restarted")
      expect(told.routesAgain).toBe(told.routes)
      if (told.networkEnabled) expect(told.routes).toContain("prohibit 169.254.0.0/16")
      expect(told.sealed).toMatch(/^cat: \/proc\/\d+\/maps: Permission denied$/)
      // ENOSPC
      expect(told.terminals).toBe("64 28")
      expect(told.change).toContain("Operation not permitted")
      expect(processesOf(instanceOf(folder))).toEqual([])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }, 90_000)
})
