/**
 * Reads a tar archive entry by entry: combines long names (ustar's prefix, GNU's, PAX), and bounds every field.
 *
 * @source IEEE Std 1003.1-2017, pax; GNU tar manual, "Basic Tar Format"
 */

import { archiveNameMaxBytes, archivePaxMaxBytes, archivePrefacesMax } from "../limits.ts"
import { ArchiveFault, malformed, truncated } from "./ArchiveFault.ts"
import type { ByteSource } from "./ByteSource.ts"
import { blockBytes, entryTypes, isEnd, paddingOf, readHeader, readPax } from "./tarHeader.ts"

export interface Entry {
  readonly kind: "file" | "directory" | "symlink" | "hardLink"
  /** As written in the archive. */
  readonly name: string
  /** For a link: its target, or the entry whose second name this is. */
  readonly target: string
  readonly mode: number
  /** Seconds since the epoch, with a fraction. */
  readonly mtime: number
  /** For a file: the length of its content in the source, before its padding. */
  readonly size: number
}

const kinds: Readonly<Record<string, Entry["kind"]>> = {
  "0": "file",
  "\0": "file",
  // A contiguous file is a file.
  "7": "file",
  "1": "hardLink",
  "2": "symlink",
  "5": "directory"
}

const unsupported: Readonly<Record<string, string>> = {
  "3": "a device",
  "4": "a device",
  "6": "a fifo",
  S: "a sparse file; make the archive without --sparse",
  M: "a part of a file that began in another volume",
  D: "an incremental backup of a directory"
}

/** The keys used from a header that applies to all later entries. Other keys are dropped, because there may be as many headers as entries. */
const lasting: ReadonlySet<string> = new Set(["path", "linkpath", "size", "mtime"])

/** Larger values are not times of a file system. */
const mtimeMaxSeconds = 2 ** 40

/**
 * The caller must read content and padding before it asks for the next entry. Throws an ArchiveFault; an archive that ends without a block of zeros
 * is truncated.
 */
export async function* tarEntries(source: ByteSource): AsyncGenerator<Entry> {
  let always: ReadonlyMap<string, string> = new Map()
  let records: ReadonlyMap<string, string> = new Map()
  let longName: string | null = null
  let longTarget: string | null = null
  let prefaces = 0
  for (let isFirst = true; ; isFirst = false) {
    const block = await source.exactly(blockBytes)
    if (isFirst && block[0] === 0x1f && block[1] === 0x8b) {
      throw malformed("it is compressed by gzip. Send it with Content-Encoding: gzip")
    }
    if (block.byteLength < blockBytes) throw truncated()
    if (isEnd(block)) return
    const header = readHeader(block)
    if (isPreface(header.type)) {
      prefaces += 1
      if (prefaces > archivePrefacesMax) throw malformed("too many headers stand before one entry")
      if (header.size > archivePaxMaxBytes) throw malformed("a header is too long")
      const bytes = await source.exactly(header.size + paddingOf(header.size))
      if (bytes.byteLength < header.size) throw truncated()
      const content = bytes.subarray(0, header.size)
      if (header.type === entryTypes.paxGlobal) always = withLasting(always, readPax(content))
      else if (header.type === entryTypes.pax) records = readPax(content)
      else if (header.type === entryTypes.gnuLongName) longName = withoutEnd(content)
      else if (header.type === entryTypes.gnuLongTarget) longTarget = withoutEnd(content)
      continue
    }
    const told = (key: string) => records.get(key) ?? always.get(key)
    const name = told("path") ?? longName ?? header.name
    const reason = [...records.keys()].some((key) => key.startsWith("GNU.sparse."))
      ? unsupported["S"]
      : unsupported[header.type]
    if (reason !== undefined) throw new ArchiveFault("unsupported_entry", `An entry is ${reason}.`)
    const kind = kinds[header.type]
    if (kind === undefined) throw new ArchiveFault("unsupported_entry", "An entry is of a kind that is not known.")
    const size = sizeOf(told("size"), header.size)
    const entry: Entry = {
      kind: kind === "file" && name.endsWith("/") ? "directory" : kind,
      name,
      target: told("linkpath") ?? longTarget ?? header.target,
      mode: header.mode & 0o777,
      mtime: mtimeOf(told("mtime"), header.mtime),
      // As in GNU tar: a link has no content, even if its header says otherwise.
      size: kind === "symlink" || kind === "hardLink" ? 0 : size
    }
    if (entry.name.length > archiveNameMaxBytes || entry.target.length > archiveNameMaxBytes) {
      throw new ArchiveFault("name_too_long", `A path is longer than ${archiveNameMaxBytes} bytes.`)
    }
    if (entry.name.includes("\0") || entry.target.includes("\0")) {
      throw new ArchiveFault("unsafe_name", "A name contains NUL.")
    }
    records = new Map()
    longName = null
    longTarget = null
    prefaces = 0
    yield entry
  }
}

const withLasting = (
  before: ReadonlyMap<string, string>,
  told: ReadonlyMap<string, string>
): ReadonlyMap<string, string> => new Map([...before, ...[...told].filter(([key]) => lasting.has(key))])

const isPreface = (type: string): boolean =>
  type === entryTypes.pax ||
  type === entryTypes.paxGlobal ||
  type === entryTypes.gnuLongName ||
  type === entryTypes.gnuLongTarget ||
  // A volume's label describes no file.
  type === "V"

const withoutEnd = (bytes: Buffer): string => {
  const end = bytes.indexOf(0)
  return bytes.toString("latin1", 0, end === -1 ? bytes.byteLength : end)
}

const sizeOf = (told: string | undefined, size: number): number => {
  if (told === undefined) return size
  const value = /^\d{1,16}$/.test(told) ? Number(told) : Number.NaN
  if (!Number.isSafeInteger(value)) throw malformed("a size is no number")
  return value
}

const mtimeOf = (told: string | undefined, mtime: number): number => {
  const value = told === undefined ? mtime : /^-?\d{1,16}(\.\d{0,32})?$/.test(told) ? Number(told) : Number.NaN
  if (!(Math.abs(value) <= mtimeMaxSeconds)) throw malformed("a time is out of all bounds")
  return value
}
