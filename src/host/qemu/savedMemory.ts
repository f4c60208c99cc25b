/**
 * Wakes a machine without reading its memory.
 *
 * Why: QEMU reads a saved memory page by page before the machine continues, which takes longer than everything else in a wake. A saved state has each
 * page at a fixed offset ("mapped-ram"), so QEMU can map the file instead, as a clone maps its template's memory, and the kernel reads what is
 * touched. For that QEMU needs the same state without the pages: a copy in which the bitmap of present pages is empty. The saved state itself stays
 * complete, so a machine whose copy cannot be made, for example on a full disk, wakes by reading.
 *
 * A machine that was woken so holds its removed file, up to its memory's size, until it ends or sleeps again.
 *
 * @source QEMU docs/devel/migration/mapped-ram.rst; migration/ram.c mapped_ram_setup_ramblock
 */
import { constants } from "node:fs"
import { type FileHandle, open, rm } from "node:fs/promises"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"
import { machineFiles, type Start } from "./machineArguments.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"

/** The description of the memory is in the first block; QEMU puts the largest block first. */
const HEAD_BYTES = 64 * 1024
const HEADER_VERSION = 1
const PAGE_BYTES = 4096
const HEADER_BYTES = 28
/** Everything except the memory: devices, and small blocks such as firmware tables. */
const REST_MAX_BYTES = 64 * 1024 ** 2
const CHUNK_BYTES = 1024 ** 2

/** The file with the memory of a sleeping machine: its own, or that of a snapshot. */
export type SavedFile = "suspended" | "forked"

/** Where a saved state keeps its memory. */
interface Layout {
  readonly bitmapOffset: number
  readonly pagesOffset: number
}

/** Null for another format: a state of an older QEMU has its pages in a stream. */
export const layoutIn = (head: Buffer, memoryBytes: number): Layout | null => {
  // The block's name with its length, its size, and the header's constants.
  const sign = Buffer.alloc(4 + 8 + 4 + 8)
  sign.write("\u0003ram", 0, "latin1")
  sign.writeBigUInt64BE(BigInt(memoryBytes), 4)
  sign.writeUInt32BE(HEADER_VERSION, 12)
  sign.writeBigUInt64BE(BigInt(PAGE_BYTES), 16)
  const at = head.indexOf(sign)
  if (at < 0 || head.indexOf(sign, at + 1) >= 0) return null
  const header = at + 12
  if (header + HEADER_BYTES > head.length) return null
  const bitmapOffset = Number(head.readBigUInt64BE(header + 12))
  const pagesOffset = Number(head.readBigUInt64BE(header + 20))
  const bitmapEnd = bitmapOffset + Math.ceil(memoryBytes / PAGE_BYTES / 8)
  const fits = bitmapOffset >= header + HEADER_BYTES && bitmapOffset <= HEAD_BYTES && bitmapEnd <= pagesOffset
  return fits && pagesOffset % PAGE_BYTES === 0 && pagesOffset <= REST_MAX_BYTES ? { bitmapOffset, pagesOffset } : null
}

const copy = async (from: FileHandle, to: FileHandle, begin: number, end: number): Promise<void> => {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let at = begin; at < end; ) {
    const { bytesRead } = await from.read(chunk, 0, Math.min(CHUNK_BYTES, end - at), at)
    if (bytesRead === 0) throw new Error("a saved state ended early")
    await to.write(chunk, 0, bytesRead, at)
    at += bytesRead
  }
}

/**
 * Writes zeros where a state of a running machine has older bytes of a page that was zero at last: QEMU then takes the page out of the bitmap and
 * leaves its bytes, which a machine that maps the file would read.
 *
 * @param allocated The parts of the file that are not holes, in order.
 */
export const zeroAbsentPages = async (
  file: FileHandle,
  memoryBytes: number,
  allocated: ReadonlyArray<readonly [from: number, to: number]> = [[0, Number.POSITIVE_INFINITY]]
): Promise<void> => {
  const head = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await file.read(head, 0, HEAD_BYTES, 0)
  const layout = layoutIn(head.subarray(0, bytesRead), memoryBytes)
  if (layout === null) return
  const pages = memoryBytes / PAGE_BYTES
  const bitmap = Buffer.alloc(Math.ceil(pages / 8))
  await file.read(bitmap, 0, bitmap.length, layout.bitmapOffset)
  const isPresent = (page: number) => ((bitmap[page >> 3]! >> (page & 7)) & 1) === 1
  const zeros = Buffer.alloc(CHUNK_BYTES)
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  const pageAt = (offset: number) => Math.min(pages, Math.max(0, (offset - layout.pagesOffset) / PAGE_BYTES))
  for (const [begin, end] of allocated) {
    const last = Math.ceil(pageAt(end))
    for (let page = Math.floor(pageAt(begin)); page < last; ) {
      if (isPresent(page)) {
        page++
        continue
      }
      const from = page
      while (page < last && page - from < CHUNK_BYTES / PAGE_BYTES && !isPresent(page)) page++
      const bytes = (page - from) * PAGE_BYTES
      const at = layout.pagesOffset + from * PAGE_BYTES
      const { bytesRead: got } = await file.read(chunk, 0, bytes, at)
      if (chunk.compare(zeros, 0, got, 0, got) !== 0) await file.write(zeros, 0, got, at)
    }
  }
}

/** A saved state of which a machine can map the memory. */
export interface Mappable {
  readonly file: SavedFile
  /** Of the memory in the saved state. */
  readonly offset: number
  /** Makes the copy without pages. Where it rejects there is none, and the machine can load the saved state itself. */
  readonly makeDevices: (uid: number | null) => Promise<void>
}

/** Null where the memory must be read. */
export const mappableIn = async (
  folder: SandboxFolder,
  memoryBytes: number,
  from: SavedFile = "suspended"
): Promise<Mappable | null> => {
  const openSaved = () => open(folder.file(from), constants.O_RDONLY | constants.O_NOFOLLOW)
  const saved = await openSaved()
  try {
    const { size } = await saved.stat()
    const head = Buffer.alloc(HEAD_BYTES)
    const { bytesRead } = await saved.read(head, 0, HEAD_BYTES, 0)
    const layout = layoutIn(head.subarray(0, bytesRead), memoryBytes)
    if (layout === null) return null
    const rest = layout.pagesOffset + memoryBytes
    if (size < rest || size - rest > REST_MAX_BYTES) return null
    const makeDevices = async (uid: number | null) => {
      await folder.makeEmpty("devices", uid)
      try {
        await using whole = await openSaved()
        await using devices = await open(folder.file("devices"), constants.O_WRONLY | constants.O_NOFOLLOW)
        await copy(whole, devices, 0, layout.bitmapOffset)
        // The gap reads as zeros: no page is present.
        await copy(whole, devices, rest, size)
      } catch (error) {
        await rm(folder.file("devices"), { force: true })
        throw error
      }
    }
    return { file: from, offset: layout.pagesOffset, makeDevices }
  } finally {
    await saved.close()
  }
}

/** How a machine that wakes gets its memory. */
export const wakeFrom = (mappable: Pick<Mappable, "file" | "offset"> | null): Start =>
  mappable === null
    ? { type: "wake", mapped: null }
    : { type: "wake", mapped: { file: machineFiles[mappable.file], offset: mappable.offset } }

export const memoryLost = new RuntimeRefused({
  code: "MEMORY_LOST",
  message: publicText`The Sandbox's machine ended while it woke, and its memory is lost. Its volume is kept: start it again.`
})
