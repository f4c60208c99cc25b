/** A saved state is split into memory that QEMU maps and a state that names no page. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { open, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { machineArguments } from "../../../../src/host/qemu/machineArguments.ts"
import { SandboxFolder } from "../../../../src/host/qemu/SandboxFolder.ts"
import { layoutIn, mappableIn, wakeFrom, zeroAbsentPages } from "../../../../src/host/qemu/savedMemory.ts"

const MiB = 1024 ** 2
const MEMORY_BYTES = 8 * MiB
const PAGES_OFFSET = MiB
const BITMAP_OFFSET = 4096
const BITMAP_BYTES = MEMORY_BYTES / 4096 / 8

interface Changes {
  readonly name?: string
  readonly version?: number
  readonly pageBytes?: number
  readonly bitmapOffset?: number
  readonly pagesOffset?: number
}

const block = ({ name = "ram", version = 1, pageBytes = 4096, ...offsets }: Changes = {}) => {
  const bytes = Buffer.alloc(1 + name.length + 8 + 28)
  bytes.writeUInt8(name.length, 0)
  bytes.write(name, 1, "latin1")
  const at = 1 + name.length
  bytes.writeBigUInt64BE(BigInt(MEMORY_BYTES), at)
  bytes.writeUInt32BE(version, at + 8)
  bytes.writeBigUInt64BE(BigInt(pageBytes), at + 12)
  bytes.writeBigUInt64BE(BigInt(offsets.bitmapOffset ?? BITMAP_OFFSET), at + 20)
  bytes.writeBigUInt64BE(BigInt(offsets.pagesOffset ?? PAGES_OFFSET), at + 28)
  return bytes
}

/** As QEMU writes it: text of other sections, the block, its bitmap, its pages, and the devices. */
const state = (changes: Changes = {}, more = Buffer.alloc(0)) => {
  const bytes = Buffer.alloc(PAGES_OFFSET + MEMORY_BYTES + 5000, 0)
  bytes.write("QEVM and a section that is called \u0003ram", 0, "latin1")
  block(changes).copy(bytes, 300)
  more.copy(bytes, 600)
  bytes.fill(0xff, BITMAP_OFFSET, BITMAP_OFFSET + BITMAP_BYTES)
  bytes.fill(0x11, PAGES_OFFSET, PAGES_OFFSET + MEMORY_BYTES)
  bytes.fill(0x22, PAGES_OFFSET + MEMORY_BYTES)
  return bytes
}

const inFolder = async (body: (folder: SandboxFolder) => Promise<void>) => {
  const root = mkdtempSync(join(tmpdir(), "atoll-saved-"))
  try {
    const folder = new SandboxFolder(root, "sleeper")
    mkdirSync(folder.path, { recursive: true })
    await body(folder)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

describe("a saved state", () => {
  it("of a machine that ran has zeros in each page that its bitmap does not name", () =>
    inFolder(async (folder) => {
      const saved = state()
      const absent = [0, 3, 4, 300, MEMORY_BYTES / 4096 - 1]
      for (const page of absent) saved[BITMAP_OFFSET + (page >> 3)]! &= ~(1 << (page & 7))
      // More than one read takes.
      saved.fill(0, BITMAP_OFFSET + 100, BITMAP_OFFSET + 180)
      writeFileSync(folder.file("captured"), saved)
      const file = await open(folder.file("captured"), "r+")
      await zeroAbsentPages(file, MEMORY_BYTES).finally(() => file.close())
      const pages = (from: number, to: number) => saved.fill(0, PAGES_OFFSET + from * 4096, PAGES_OFFSET + to * 4096)
      for (const page of absent) pages(page, page + 1)
      pages(800, 1440)
      expect(readFileSync(folder.file("captured")).equals(saved)).toBe(true)
    }))

  it("is zeroed only where its file has something: a hole reads as zeros already", () =>
    inFolder(async (folder) => {
      const saved = state()
      for (const page of [3, 300]) saved[BITMAP_OFFSET + (page >> 3)]! &= ~(1 << (page & 7))
      writeFileSync(folder.file("captured"), saved)
      const file = await open(folder.file("captured"), "r+")
      const around = (page: number) => [PAGES_OFFSET + (page - 1) * 4096, PAGES_OFFSET + (page + 2) * 4096] as const
      await zeroAbsentPages(file, MEMORY_BYTES, [[0, 4096], around(3), around(500)]).finally(() => file.close())
      saved.fill(0, PAGES_OFFSET + 3 * 4096, PAGES_OFFSET + 4 * 4096)
      expect(readFileSync(folder.file("captured")).equals(saved)).toBe(true)
    }))

  it("is copied without its memory and with no page present, and stays as it is", () =>
    inFolder(async (folder) => {
      const saved = state()
      writeFileSync(folder.file("suspended"), saved)
      const mappable = await mappableIn(folder, MEMORY_BYTES)
      expect(mappable).toMatchObject({ file: "suspended", offset: PAGES_OFFSET })
      await mappable!.makeDevices(null)
      const expected = Buffer.from(saved)
      expected.fill(0, BITMAP_OFFSET, PAGES_OFFSET + MEMORY_BYTES)
      expect(readFileSync(folder.file("devices")).equals(expected)).toBe(true)
      expect(readFileSync(folder.file("suspended")).equals(saved)).toBe(true)
      // What an earlier wake left is replaced.
      writeFileSync(folder.file("devices"), Buffer.alloc(20 * MiB, 7))
      await mappable!.makeDevices(null)
      expect(readFileSync(folder.file("devices")).equals(expected)).toBe(true)
    }))

  it("is read where its pages are not at fixed offsets, or not where they fit", () => {
    const layout = (changes: Changes, more?: Buffer<ArrayBuffer>) =>
      layoutIn(state(changes, more).subarray(0, 65_536), MEMORY_BYTES)
    expect(layout({})).toEqual({ bitmapOffset: BITMAP_OFFSET, pagesOffset: PAGES_OFFSET })
    expect(layout({ name: "rom" })).toBeNull()
    expect(layout({ version: 2 })).toBeNull()
    expect(layout({ pageBytes: 65_536 })).toBeNull()
    expect(layout({ pagesOffset: PAGES_OFFSET + 1 })).toBeNull()
    expect(layout({ pagesOffset: BITMAP_OFFSET })).toBeNull()
    expect(layout({ pagesOffset: 2 ** 40 })).toBeNull()
    expect(layout({ bitmapOffset: 0 })).toBeNull()
    expect(layout({ bitmapOffset: 2 ** 20 - BITMAP_BYTES })).toBeNull()
    // The sign of the block must be there once.
    expect(layout({}, block())).toBeNull()
    expect(layoutIn(state(), 2 * MEMORY_BYTES)).toBeNull()
    expect(layoutIn(state().subarray(0, 330), MEMORY_BYTES)).toBeNull()
  })

  it("without all of its memory is read, and one that is a link is refused", () =>
    inFolder(async (folder) => {
      writeFileSync(folder.file("suspended"), state().subarray(0, PAGES_OFFSET + MEMORY_BYTES - 1))
      expect(await mappableIn(folder, MEMORY_BYTES)).toBeNull()
      const elsewhere = join(folder.path, "elsewhere")
      writeFileSync(elsewhere, state())
      renameSync(folder.file("suspended"), join(folder.path, "old"))
      symlinkSync(elsewhere, folder.file("suspended"))
      await expect(mappableIn(folder, MEMORY_BYTES)).rejects.toMatchObject({ code: "ELOOP" })
      expect(readdirSync(folder.path)).not.toContain("devices.state")
    }))

  it("that is gone leaves neither a copy nor an open file", () =>
    inFolder(async (folder) => {
      writeFileSync(folder.file("suspended"), state())
      const mappable = await mappableIn(folder, MEMORY_BYTES)
      await rm(folder.file("suspended"))
      await expect(mappable!.makeDevices(null)).rejects.toThrow(/ENOENT/)
      expect(readdirSync(folder.path)).toEqual([])
      const openHere = readdirSync("/proc/self/fd").filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder.path)
        } catch {
          return false
        }
      })
      expect(openHere).toEqual([])
    }))

  it("is mapped privately and read-only by the machine that wakes", () => {
    const start = wakeFrom({ file: "suspended", offset: PAGES_OFFSET })
    const shape = { accelerator: "tcg", vcpus: 1, memoryBytes: MEMORY_BYTES, volumeBytes: MiB, network: false } as const
    expect(machineArguments(shape, { uuid: "u", start }).join(" ")).toContain(
      `memory-backend-file,id=ram,size=${MEMORY_BYTES},mem-path=suspended.state,offset=${PAGES_OFFSET},share=off,readonly=on,rom=off`
    )
    expect(machineArguments(shape, { uuid: "u", start: wakeFrom(null) }).join(" ")).toContain("memory-backend-ram,")
  })
})
