/** An idle Sandbox costs one read; one that has used its processor is read as a whole. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { NO_CGROUPS } from "../../../../src/host/linux/cgroups.ts"
import { UsageReader } from "../../../../src/host/namespace/UsageReader.ts"

const folder = mkdtempSync(join(tmpdir(), "atoll-usage-"))
afterAll(() => rmSync(folder, { recursive: true }))

const process = { pid: 1, startTime: 1, bootId: "" }
const record = { generation: 1, networkEnabled: false, monitor: process, init: process, agent: process }
const volume = { image: null, folder }
const layout = { nameOf: (sandboxId: string) => sandboxId }
const cgroups = { ...NO_CGROUPS, v1: { cpuacct: folder, memory: folder } }

const sandbox = (sandboxId: string) => {
  const reader = new UsageReader()
  mkdirSync(join(folder, sandboxId))
  const uses = (cpuNs: number, memoryBytes: number) => {
    writeFileSync(join(folder, sandboxId, "cpuacct.usage"), `${cpuNs}\n`)
    writeFileSync(join(folder, sandboxId, "memory.usage_in_bytes"), `${memoryBytes}\n`)
  }
  const memoryRead = () => reader.read(layout, cgroups, sandboxId, record, volume)?.memoryBytes
  return { uses, memoryRead }
}

describe("the usage of a Sandbox", () => {
  it("is read as a whole when it has used its processor", () => {
    const { uses, memoryRead } = sandbox("busy")
    uses(1, 100)
    assert.strictEqual(memoryRead(), 100)
    uses(2, 200)
    assert.strictEqual(memoryRead(), 200)
  })

  it("is the last one while it uses no processor, for at most seven reads", () => {
    const { uses, memoryRead } = sandbox("idle")
    uses(1, 100)
    assert.strictEqual(memoryRead(), 100)
    uses(1, 50)
    for (let read = 0; read < 7; read++) assert.strictEqual(memoryRead(), 100)
    assert.strictEqual(memoryRead(), 50)
  })
})
