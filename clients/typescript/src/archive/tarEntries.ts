/** What a tar archive says, entry by entry. A Sandbox made it, so nothing is believed without a bound. */
import type { ByteSource } from "./ByteSource.ts"
import { nameOfBytes } from "./names.ts"
import { blockBytes, broken, isEnd, paddingOf, readHeader, readPax } from "./tarHeader.ts"

export interface TarEntry {
  /** `other`: a fifo, a device. */
  readonly kind: "file" | "directory" | "symlink" | "hardLink" | "other"
  /** As it stands in the archive. */
  readonly name: string
  /** Of a link: where it points, or the entry whose second name this is. */
  readonly target: string
  readonly mode: number
  /** Seconds since the epoch, with a fraction. */
  readonly mtime: number
  /** So many bytes of the source are its content, and then its padding. */
  readonly size: number
}

const kinds: Readonly<Record<string, TarEntry["kind"]>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hardLink",
  "2": "symlink",
  "5": "directory"
}

const nameMaxBytes = 4096
const prefaceMaxBytes = 1024 * 1024
const prefacesMax = 16
const mtimeMaxSeconds = 2 ** 40

const textOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : new TextDecoder("latin1").decode(bytes)

const sizeOf = (told: string | undefined, size: number): number => {
  if (told === undefined) return size
  const value = /^\d{1,16}$/.test(told) ? Number(told) : Number.NaN
  if (!Number.isSafeInteger(value)) throw broken("a size is no number")
  return value
}

const mtimeOf = (told: string | undefined, mtime: number): number => {
  const value = told === undefined ? mtime : /^-?\d{1,16}(\.\d{0,32})?$/.test(told) ? Number(told) : Number.NaN
  if (!(Math.abs(value) <= mtimeMaxSeconds)) throw broken("a time is out of all bounds")
  return value
}

const withoutEnd = (bytes: Uint8Array): Uint8Array => {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

/** Before the next entry is asked for, the caller takes content and padding. Returns at the archive's end; one that has none fails. */
export async function* tarEntries(source: ByteSource): AsyncGenerator<TarEntry, void, undefined> {
  let records: ReadonlyMap<string, Uint8Array> = new Map()
  let longName: Uint8Array | undefined
  let longTarget: Uint8Array | undefined
  for (let prefaces = 0; ; ) {
    const block = await source.exactly(blockBytes)
    if (block.length < blockBytes) throw new ArchiveCut()
    if (isEnd(block)) return
    const header = readHeader(block)
    if ("xgLK".includes(header.type)) {
      prefaces++
      if (prefaces > prefacesMax || header.size > prefaceMaxBytes) throw broken("too much stands before one entry")
      const bytes = await source.exactly(header.size + paddingOf(header.size))
      if (bytes.length < header.size) throw new ArchiveCut()
      const content = bytes.slice(0, header.size)
      if (header.type === "x") records = readPax(content)
      else if (header.type === "L") longName = withoutEnd(content)
      else if (header.type === "K") longTarget = withoutEnd(content)
      continue
    }
    const name = records.get("path") ?? longName ?? header.name
    const target = records.get("linkpath") ?? longTarget ?? header.target
    if (name.length > nameMaxBytes || target.length > nameMaxBytes) throw broken("a name is too long")
    const kind = kinds[header.type] ?? "other"
    const shown = nameOfBytes(name)
    const entry: TarEntry = {
      kind: kind === "file" && shown.endsWith("/") ? "directory" : kind,
      name: shown,
      target: nameOfBytes(target),
      mode: header.mode,
      mtime: mtimeOf(textOf(records.get("mtime")), header.mtime),
      size: kind === "hardLink" || kind === "symlink" ? 0 : sizeOf(textOf(records.get("size")), header.size)
    }
    records = new Map()
    longName = undefined
    longTarget = undefined
    prefaces = 0
    yield entry
  }
}

/** It ends before its end: the connection was lost. */
export class ArchiveCut extends Error {
  override readonly name = "ArchiveCut"
}
