/**
 * Reads a tar archive entry by entry: combines long names (ustar's prefix, GNU's, PAX), and bounds every field.
 *
 * @source IEEE Std 1003.1-2017, pax; GNU tar manual, "Basic Tar Format"
 */
import type { ByteSource } from "./ByteSource.ts"
import { paxText, readPax } from "./paxRecords.ts"
import { malformed, TarFault, truncated } from "./TarFault.ts"
import { blockBytes, entryTypes, isEnd, paddingOf, readHeader, type TarHeader, untilNul } from "./tarHeader.ts"

export interface TarEntry {
  /** `other`: a fifo, a device, or a type that is not known. */
  readonly kind: "file" | "directory" | "symlink" | "hardLink" | "other"
  /** As written in the archive. */
  readonly name: Uint8Array
  /** For a link: its target, or the entry whose second name this is. */
  readonly target: Uint8Array
  readonly mode: number
  /** Seconds since the epoch, with a fraction. */
  readonly mtime: number
  /** For a file: the length of its content in the source, before its padding. */
  readonly size: number
}

/** The path of an entry, and the target of a link. */
export const nameMaxBytes = 4095
/** One PAX header, or one GNU long name; and how many of them may precede one entry. */
const prefaceMaxBytes = 1024 * 1024
const prefacesMax = 16
/** Larger values are not times of a file system. */
const mtimeMaxSeconds = 2 ** 40

const kinds: Readonly<Record<string, TarEntry["kind"]>> = {
  "0": "file",
  "\0": "file",
  // A contiguous file is a file.
  "7": "file",
  "1": "hardLink",
  "2": "symlink",
  "5": "directory"
}

const prefaceTypes: ReadonlySet<string> = new Set([
  entryTypes.pax,
  entryTypes.paxGlobal,
  entryTypes.gnuLongName,
  entryTypes.gnuLongTarget,
  // A volume's label describes no file.
  "V"
])

type Records = ReadonlyMap<string, Uint8Array>

/** The keys used from a header that applies to all later entries. Other keys are dropped, because there may be as many headers as entries. */
const lasting: ReadonlySet<string> = new Set(["path", "linkpath", "size", "mtime"])

/** The headers that stand before an entry and describe it. */
class Prefaces {
  #always: Records = new Map()
  #records: Records = new Map()
  #longName: Uint8Array | undefined
  #longTarget: Uint8Array | undefined
  #count = 0

  async read(source: ByteSource, { type, size }: TarHeader): Promise<void> {
    this.#count += 1
    if (this.#count > prefacesMax) throw malformed("too many headers stand before one entry")
    if (size > prefaceMaxBytes) throw malformed("a header is too long")
    const bytes = await source.exactly(size + paddingOf(size))
    if (bytes.length < size) throw truncated()
    // A copy: it outlives the source's piece.
    const content = new Uint8Array(bytes.subarray(0, size))
    if (type === entryTypes.paxGlobal) {
      this.#always = new Map([...this.#always, ...[...readPax(content)].filter(([key]) => lasting.has(key))])
    } else if (type === entryTypes.pax) this.#records = readPax(content)
    else if (type === entryTypes.gnuLongName) this.#longName = untilNul(content)
    else if (type === entryTypes.gnuLongTarget) this.#longTarget = untilNul(content)
  }

  get isSparse(): boolean {
    return this.#records.size > 0 && [...this.#records.keys()].some((key) => key.startsWith("GNU.sparse."))
  }

  /** The entry of a header, with the values that stand before it. Those of the next entry are others. */
  entryOf(header: TarHeader): TarEntry {
    const told = (key: string) => this.#records.get(key) ?? this.#always.get(key)
    const name = told("path") ?? this.#longName ?? header.name
    const target = told("linkpath") ?? this.#longTarget ?? header.target
    const kind = kinds[header.type] ?? "other"
    const size = sizeOf(told("size"), header.size)
    const mtime = mtimeOf(told("mtime"), header.mtime)
    if (name.length > nameMaxBytes || target.length > nameMaxBytes) {
      throw new TarFault("name_too_long", "a name is too long")
    }
    this.#records = new Map()
    this.#longName = undefined
    this.#longTarget = undefined
    this.#count = 0
    return {
      kind: kind === "file" && name.at(-1) === 0x2f ? "directory" : kind,
      name,
      target,
      mode: header.mode & 0o777,
      mtime,
      // As in GNU tar: a link has no content, even if its header says otherwise.
      size: kind === "symlink" || kind === "hardLink" ? 0 : size
    }
  }
}

/**
 * The caller must read content and padding before it asks for the next entry. Throws a TarFault; an archive that ends without a block of zeros is
 * truncated.
 *
 * @param accept Throws for an entry that the caller does not take.
 */
export async function* tarEntries(
  source: ByteSource,
  accept: (type: string, isSparse: boolean) => void = () => {}
): AsyncGenerator<TarEntry, void, undefined> {
  const prefaces = new Prefaces()
  for (let isFirst = true; ; isFirst = false) {
    const block = await source.exactly(blockBytes)
    if (isFirst && block[0] === 0x1f && block[1] === 0x8b) throw new TarFault("compressed", "it is compressed by gzip")
    if (block.length < blockBytes) throw truncated()
    if (isEnd(block)) return
    const header = readHeader(block)
    if (prefaceTypes.has(header.type)) {
      await prefaces.read(source, header)
      continue
    }
    accept(header.type, prefaces.isSparse)
    yield prefaces.entryOf(header)
  }
}

const sizeOf = (told: Uint8Array | undefined, size: number): number => {
  if (told === undefined) return size
  const text = paxText(told)
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw malformed("a size is no number")
  return value
}

const mtimeOf = (told: Uint8Array | undefined, mtime: number): number => {
  const text = told === undefined ? null : paxText(told)
  const value = text === null ? mtime : /^-?\d{1,16}(\.\d{0,32})?$/.test(text) ? Number(text) : Number.NaN
  if (!(Math.abs(value) <= mtimeMaxSeconds)) throw malformed("a time is out of all bounds")
  return value
}
