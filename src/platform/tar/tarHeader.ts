/**
 * One header of a tar archive: 512 bytes. Names are bytes, as they are in Linux; each reader gives them its own form.
 *
 * Reads POSIX ustar, GNU and the older V7 headers. Writes ustar, preceded by PAX where a value does not fit.
 *
 * @source IEEE Std 1003.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format"
 */
import { joined } from "./joined.ts"
import { paxRecord } from "./paxRecords.ts"
import { malformed } from "./TarFault.ts"

export const blockBytes = 512

/** Bytes between the end of a content and the next header. */
export const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

export interface TarHeader {
  readonly name: Uint8Array
  /** For a link. */
  readonly target: Uint8Array
  readonly mode: number
  readonly size: number
  /** Seconds since the epoch. */
  readonly mtime: number
  /** One character, see `entryTypes`. */
  readonly type: string
}

export const entryTypes = {
  file: "0",
  hardLink: "1",
  symlink: "2",
  directory: "5",
  pax: "x",
  paxGlobal: "g",
  gnuLongName: "L",
  gnuLongTarget: "K"
} as const

type Field = readonly [offset: number, length: number]

const fields = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  target: [157, 100],
  magic: [257, 8],
  prefix: [345, 155]
} as const satisfies Record<string, Field>

const encoder = new TextEncoder()
const nothing = new Uint8Array()
const slash = encoder.encode("/")
const paxName = encoder.encode("PaxHeader")
const posixMagic = encoder.encode("ustar\x0000")
/** The part of the magic that tells POSIX from GNU. */
const posixMagicBytes = 6

/** The bytes before the first NUL. */
export const untilNul = (bytes: Uint8Array): Uint8Array => {
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}

const fieldAt = (block: Uint8Array, [from, length]: Field): Uint8Array => untilNul(block.subarray(from, from + length))

const isBlank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)

const isOctal = (byte: number): boolean => byte >= 0x30 && byte <= 0x37

/** Octal digits between blanks, until NUL. */
const octalAt = (block: Uint8Array, [from, length]: Field): number => {
  let at = from
  const skipBlanks = () => {
    while (at < from + length && isBlank(block[at]!)) at += 1
  }
  skipBlanks()
  let value = 0
  for (; at < from + length && isOctal(block[at]!); at += 1) value = value * 8 + block[at]! - 0x30
  skipBlanks()
  if (at < from + length && block[at] !== 0) throw malformed("a header has a number that is none")
  return value
}

/** Octal digits, or (GNU) a two's complement number whose first bit is set. */
const numberAt = (block: Uint8Array, field: Field): number => {
  const [from, length] = field
  const first = block[from]!
  if ((first & 0x80) === 0) return octalAt(block, field)
  let value = (first & 0x40) === 0 ? first & 0x3f : first - 256
  for (let at = from + 1; at < from + length; at += 1) value = value * 256 + block[at]!
  if (!Number.isSafeInteger(value)) throw malformed("a header has a number that is too large")
  return value
}

/** The checksum's own field counts as blanks. */
const checksumOf = (block: Uint8Array): { readonly unsigned: number; readonly signed: number } => {
  const [from, length] = fields.checksum
  let unsigned = 0
  let negative = 0
  for (let at = 0; at < blockBytes; at += 1) {
    const byte = at >= from && at < from + length ? 0x20 : block[at]!
    unsigned += byte
    if (byte > 127) negative += 256
  }
  // Some old writers added signed characters.
  return { unsigned, signed: unsigned - negative }
}

export const isEnd = (block: Uint8Array): boolean => block.every((byte) => byte === 0)

const isPosix = (block: Uint8Array): boolean => {
  for (let at = 0; at < posixMagicBytes; at += 1) if (block[fields.magic[0] + at] !== posixMagic[at]) return false
  return true
}

/** The names are views of the block. Throws a TarFault for a block that is not a header. */
export const readHeader = (block: Uint8Array): TarHeader => {
  const { unsigned, signed } = checksumOf(block)
  const told = numberAt(block, fields.checksum)
  if (told !== unsigned && told !== signed) throw malformed("a header's checksum is wrong")
  const size = numberAt(block, fields.size)
  if (size < 0) throw malformed("a size is negative")
  const prefix = isPosix(block) ? fieldAt(block, fields.prefix) : nothing
  const name = fieldAt(block, fields.name)
  return {
    name: prefix.length === 0 ? name : joined([prefix, slash, name]),
    target: fieldAt(block, fields.target),
    mode: numberAt(block, fields.mode),
    size,
    mtime: numberAt(block, fields.mtime),
    type: String.fromCharCode(block[fields.type[0]]!)
  }
}

const octalMax = 8 ** 11 - 1

/** Digits with zeros before them, and a NUL behind. */
const writeOctal = (block: Uint8Array, [from, length]: Field, value: number): void => {
  let rest = value
  for (let at = from + length - 2; at >= from; at -= 1) {
    block[at] = 0x30 + (rest % 8)
    rest = Math.floor(rest / 8)
  }
}

type Divided = readonly [name: Uint8Array, prefix: Uint8Array]

/** Splits a name into name and prefix; null when it does not fit. */
const divided = (name: Uint8Array): Divided | null => {
  const [, nameMax] = fields.name
  if (name.length <= nameMax) return [name, nothing]
  const at = name.indexOf(slash[0]!, name.length - nameMax - 1)
  return at <= 0 || at > fields.prefix[1] || at === name.length - 1
    ? null
    : [name.subarray(at + 1), name.subarray(0, at)]
}

/** What all headers have in common. */
const blank = new Uint8Array(blockBytes)
writeOctal(blank, fields.uid, 0)
writeOctal(blank, fields.gid, 0)
blank.set(posixMagic, fields.magic[0])

const ustar = ({ target, mode, size, mtime, type }: TarHeader, [name, prefix]: Divided): Uint8Array<ArrayBuffer> => {
  const block = new Uint8Array(blank)
  block.set(name, fields.name[0])
  if (prefix.length > 0) block.set(prefix, fields.prefix[0])
  if (target.length > 0) block.set(target.subarray(0, fields.target[1]), fields.target[0])
  writeOctal(block, fields.mode, mode)
  writeOctal(block, fields.size, Math.min(size, octalMax))
  writeOctal(block, fields.mtime, Math.max(0, Math.min(mtime, octalMax)))
  block[fields.type[0]] = type.charCodeAt(0)
  // Six digits, NUL, blank.
  const [from, length] = fields.checksum
  writeOctal(block, [from, length - 1], checksumOf(block).unsigned)
  block[from + length - 1] = 0x20
  return block
}

/** The fields of a header that do not fit into ustar. */
const paxOf = ({ name, target, size, mtime }: TarHeader, parts: Divided | null): ReadonlyArray<Uint8Array> => [
  ...(parts === null ? [paxRecord("path", name)] : []),
  ...(target.length > fields.target[1] ? [paxRecord("linkpath", target)] : []),
  ...(size > octalMax ? [paxRecord("size", String(size))] : []),
  ...(mtime < 0 || mtime > octalMax ? [paxRecord("mtime", String(mtime))] : [])
]

const fits = ({ target, size, mtime }: TarHeader): boolean =>
  target.length <= fields.target[1] && size <= octalMax && mtime >= 0 && mtime <= octalMax

/** The blocks before a content: one, or three and more with a PAX header. `mtime` is whole seconds. */
export const writeHeader = (header: TarHeader): Uint8Array<ArrayBuffer> => {
  const parts = divided(header.name)
  if (parts !== null && fits(header)) return ustar(header, parts)
  const pax = joined(paxOf(header, parts))
  const before = { target: nothing, mode: 0o644, size: pax.length, mtime: 0, type: entryTypes.pax }
  return joined([
    ustar({ ...before, name: paxName }, [paxName, nothing]),
    pax,
    new Uint8Array(paddingOf(pax.length)),
    ustar(header, parts ?? [header.name.subarray(0, fields.name[1]), nothing])
  ])
}
