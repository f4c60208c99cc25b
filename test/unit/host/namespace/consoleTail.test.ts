import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ConsoleCut } from "../../../../src/host/namespace/ConsoleCut.ts"
import { ConsoleTail } from "../../../../src/host/namespace/ConsoleTail.ts"

describe("a followed console", () => {
  let folder: string
  let path: string
  let tail: ConsoleTail
  const open = (generation: number) => new ConsoleTail(path, new ConsoleCut(folder, generation))
  const text = () => {
    const chunk = tail.read()
    return chunk === null ? null : Buffer.from(chunk.bytes).toString()
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "atoll-console-"))
    path = join(folder, "console-1")
    tail = open(1)
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

  it("has its offsets also for the next process, after it was emptied; those of another generation begin at 0", () => {
    writeFileSync(path, "x".repeat(1024 * 1024))
    while (text() !== null);
    appendFileSync(path, "more")
    tail.close()
    tail = open(1)
    expect(tail.read()).toEqual({ offset: 1024 * 1024, bytes: Buffer.from("more") })
    tail.close()
    tail = open(2)
    expect(tail.read()).toEqual({ offset: 0, bytes: Buffer.from("more") })
    tail.close()
    writeFileSync(join(folder, "console.json"), "{")
    tail = open(1)
    expect(tail.end()).toEqual({ offset: 0, bytes: Buffer.from("more") })
  })

  it("is read and emptied also where its offset cannot be kept", () => {
    tail = new ConsoleTail(path, new ConsoleCut(join(folder, "missing"), 1))
    writeFileSync(path, "x".repeat(1024 * 1024))
    let length = 0
    for (let part = text(); part !== null; part = text()) length += part.length
    expect([length, statSync(path).size]).toEqual([1024 * 1024, 0])
  })

  it("gives at its end what was not read, before the kernel has reported the write", () => {
    writeFileSync(path, "one")
    expect(text()).toBe("one")
    expect(text()).toBe(null)
    appendFileSync(path, "last words")
    // No event has been handled since the write, so for `read` the console is still quiet.
    expect(text()).toBe(null)
    expect(tail.end()).toEqual({ offset: 3, bytes: Buffer.from("last words") })
    expect(tail.end()).toBe(null)
  })

  it("gives at its end the last of a flood, at its own offset", () => {
    writeFileSync(path, "x".repeat(1024 * 1024))
    while (text() !== null);
    appendFileSync(path, `${"y".repeat(200_000)}last words`)
    const { offset, bytes } = tail.end()!
    expect([offset, bytes.length]).toEqual([1024 * 1024 + 200_010 - 64 * 1024, 64 * 1024])
    expect(Buffer.from(bytes.subarray(-10)).toString()).toBe("last words")
  })

  it("has no end without a file", () => {
    expect(tail.end()).toBe(null)
  })
})
