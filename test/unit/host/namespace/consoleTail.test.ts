import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ConsoleTail } from "../../../../src/host/namespace/ConsoleTail.ts"

describe("a followed console", () => {
  let folder: string
  let path: string
  let tail: ConsoleTail
  const text = () => {
    const chunk = tail.read()
    return chunk === null ? null : Buffer.from(chunk.bytes).toString()
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-console-"))
    path = join(folder, "console-1")
    tail = new ConsoleTail(path)
  })
  afterEach(() => {
    tail.close()
    rmSync(folder, { recursive: true })
  })

  it("returns each byte once, however often it was quiet in between", async () => {
    expect(text()).toBe(null)
    writeFileSync(path, "")
    for (const line of ["one", "two", "three"]) {
      expect(text()).toBe(null)
      expect(text()).toBe(null)
      appendFileSync(path, line)
      await expect.poll(text).toBe(line)
    }
    expect(text()).toBe(null)
  })

  it("is emptied when much has been read, and read on from there", async () => {
    writeFileSync(path, "x".repeat(1024 * 1024))
    let length = 0
    for (let part = text(); part !== null; part = text()) length += part.length
    expect([length, statSync(path).size]).toEqual([1024 * 1024, 0])
    appendFileSync(path, "more")
    await expect.poll(() => tail.read()).toEqual({ offset: 1024 * 1024, bytes: Buffer.from("more") })
  })
})
