import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { presentDriver } from "../../../../src/host/HostFolder.ts"
import { existingPool, poolImageOf, poolObstacle } from "../../../../src/host/linux/volumePool.ts"

describe("a volume pool", () => {
  let dataDir = ""
  const state = () => join(dataDir, "runtime", "namespace")
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "atoll-pool-"))
    mkdirSync(state(), { recursive: true })
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  it("that is not mounted counts as Sandboxes of namespaces, which are not seen below it", () => {
    expect(presentDriver(dataDir)).toBeNull()
    writeFileSync(poolImageOf(state()), "")
    expect(existingPool(state())).toBe(join(dataDir, "runtime", ".namespace.xfs"))
    expect(presentDriver(dataDir)).toBe("namespace")
  })

  it("is not made where the setting is off, or where the folder has something that the driver cannot make again", async () => {
    const obstacle = async (choice: "auto" | "off") => (await poolObstacle(state(), choice))?.why ?? ""
    expect(await obstacle("off")).not.toBe("")
    mkdirSync(join(state(), ".volumes"))
    mkdirSync(join(state(), ".blank"))
    writeFileSync(join(state(), ".blank", "image"), "")
    expect(await obstacle("auto")).not.toContain("had Sandboxes")
    writeFileSync(join(state(), ".volumes", "one"), "")
    expect(await obstacle("auto")).not.toBe("")
  })
})
