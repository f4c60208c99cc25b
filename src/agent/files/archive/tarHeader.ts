/**
 * One header of a tar archive: 512 bytes. Names are byte strings, as everywhere in the agent.
 *
 * Reads POSIX ustar, GNU and the older V7 headers. Writes ustar, preceded by PAX where a value does not fit.
 *
 * @source IEEE Std 1003.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format"
 */
import { malformed } from "./ArchiveFault.ts"

export const blockBytes = 512

/** Bytes between the end of a content and the next header. */
export const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

export interface Header {
  readonly name: string
  /** For a link. */
  readonly target: string
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

/** Offset and length of each field. */
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
} as const

const posixMagic = "ustar\x0000"

const textAt = (block: Buffer, [from, length]: readonly [number, number]): string => {
  const end = block.indexOf(0, from)
  return block.toString("latin1", from, end === -1 || end > from + length ? from + length : end)
}

/** Octal digits, or (GNU) a two's complement number whose first bit is set. */
const numberAt = (block: Buffer, field: readonly [number, number]): number => {
  const [from, length] = field
  const first = block[from]!
  if ((first & 0x80) === 0) {
    const digits = textAt(block, field).trim()
    if (!/^[0-7]*$/.test(digits)) throw malformed("a header has a number that is none")
    return digits === "" ? 0 : Number.parseInt(digits, 8)
  }
  let value = (first & 0x40) === 0 ? first & 0x3f : first - 256
  for (let at = from + 1; at < from + length; at += 1) value = value * 256 + block[at]!
  if (!Number.isSafeInteger(value)) throw malformed("a header has a number that is too large")
  return value
}

/** The checksum's own field counts as blanks. */
const checksumOf = (block: Buffer): { readonly unsigned: number; readonly signed: number } => {
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

export const isEnd = (block: Buffer): boolean => block.every((byte) => byte === 0)

/** Throws an ArchiveFault for a block that is not a header. */
export const readHeader = (block: Buffer): Header => {
  const { unsigned, signed } = checksumOf(block)
  const told = numberAt(block, fields.checksum)
  if (told !== unsigned && told !== signed) throw malformed("a header's checksum is wrong")
  const size = numberAt(block, fields.size)
  if (size < 0) throw malformed("a size is negative")
  const isPosix = textAt(block, [fields.magic[0], 6]) === "ustar" && block[fields.magic[0] + 5] === 0
  const prefix = isPosix ? textAt(block, fields.prefix) : ""
  const name = textAt(block, fields.name)
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    target: textAt(block, fields.target),
    mode: numberAt(block, fields.mode),
    size,
    mtime: numberAt(block, fields.mtime),
    type: block.toString("latin1", fields.type[0], fields.type[0] + 1)
  }
}

const octalMax = 8 ** 11 - 1

const writeOctal = (block: Buffer, [from, length]: readonly [number, number], value: number): void => {
  block.write(value.toString(8).padStart(length - 1, "0"), from, "latin1")
}

/** Splits a name into name and prefix; null when it does not fit. */
const divided = (name: string): readonly [name: string, prefix: string] | null => {
  const [, nameMax] = fields.name
  if (name.length <= nameMax) return [name, ""]
  const at = name.indexOf("/", name.length - nameMax - 1)
  return at <= 0 || at > fields.prefix[1] || at === name.length - 1 ? null : [name.slice(at + 1), name.slice(0, at)]
}

const ustar = (header: Header): Buffer => {
  const block = Buffer.alloc(blockBytes)
  const [name, prefix] = divided(header.name) ?? [header.name.slice(0, fields.name[1]), ""]
  block.write(name, fields.name[0], "latin1")
  writeOctal(block, fields.mode, header.mode)
  writeOctal(block, fields.uid, 0)
  writeOctal(block, fields.gid, 0)
  writeOctal(block, fields.size, Math.min(header.size, octalMax))
  writeOctal(block, fields.mtime, Math.max(0, Math.min(header.mtime, octalMax)))
  block.write(header.type, fields.type[0], "latin1")
  block.write(header.target.slice(0, fields.target[1]), fields.target[0], "latin1")
  block.write(posixMagic, fields.magic[0], "latin1")
  block.write(prefix, fields.prefix[0], "latin1")
  block.write(`${checksumOf(block).unsigned.toString(8).padStart(6, "0")}\0 `, fields.checksum[0], "latin1")
  return block
}

/** `length key=value\n`, whose length counts its own digits. */
const paxRecord = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`
  let length = rest.length
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length
  return `${length}${rest}`
}

/** The fields of a header that do not fit into ustar. */
const paxOf = ({ name, target, size, mtime }: Header): string =>
  (divided(name) === null ? paxRecord("path", name) : "") +
  (target.length > fields.target[1] ? paxRecord("linkpath", target) : "") +
  (size > octalMax ? paxRecord("size", String(size)) : "") +
  (mtime < 0 || mtime > octalMax ? paxRecord("mtime", String(mtime)) : "")

/** The blocks before a content: one, or three and more with a PAX header. `mtime` is whole seconds. */
export const writeHeader = (header: Header): Buffer => {
  const pax = Buffer.from(paxOf(header), "latin1")
  if (pax.byteLength === 0) return ustar(header)
  const before = ustar({
    name: "PaxHeader",
    target: "",
    mode: 0o644,
    size: pax.byteLength,
    mtime: 0,
    type: entryTypes.pax
  })
  return Buffer.concat([before, pax, Buffer.alloc(paddingOf(pax.byteLength)), ustar(header)])
}

/** Records of a PAX header; the last value of a key counts. Throws an ArchiveFault. */
export const readPax = (bytes: Buffer): ReadonlyMap<string, string> => {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.byteLength && bytes[at] !== 0; ) {
    const blank = bytes.indexOf(0x20, at)
    const digits = blank === -1 ? "" : bytes.toString("latin1", at, blank)
    const end = at + Number(digits)
    if (!/^\d{1,10}$/.test(digits) || end <= blank + 1 || end > bytes.byteLength || bytes[end - 1] !== 0x0a) {
      throw malformed("a PAX header is broken")
    }
    const record = bytes.toString("latin1", blank + 1, end - 1)
    const equals = record.indexOf("=")
    if (equals < 1) throw malformed("a PAX header is broken")
    records.set(record.slice(0, equals), record.slice(equals + 1))
    at = end
  }
  return records
}
