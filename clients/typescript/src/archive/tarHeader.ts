/**
 * One header of a tar archive: 512 bytes. Written is ustar, and PAX before what does not fit into it; read is that, and what GNU tar writes.
 *
 * @source IEEE Std 1003.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format"
 */
import { UnreadableAnswer } from "../errors.ts"
import { bytesOfName } from "./names.ts"

export const blockBytes = 512

/** Bytes between the end of a content and the next header. */
export const paddingOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

export interface TarHeader {
  readonly name: string
  /** Of a link. */
  readonly target: string
  readonly mode: number
  readonly size: number
  /** Seconds since the epoch. */
  readonly mtime: number
  /** `0` a file, `1` a second name of one, `2` a symbolic link, `5` a directory, `x` a PAX header for the next. */
  readonly type: string
}

/** What a header says whose names are bytes still. */
export interface RawHeader extends Omit<TarHeader, "name" | "target"> {
  readonly name: Uint8Array
  readonly target: Uint8Array
}

/** Where each field begins, and its bytes. */
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

const octalMax = 8 ** 11 - 1
const encoder = new TextEncoder()
const latin1 = new TextDecoder("latin1")

export const broken = (what: string) => new UnreadableAnswer(`The archive cannot be read: ${what}.`)

const fieldOf = (block: Uint8Array, [from, length]: readonly [number, number]): Uint8Array => {
  const field = block.subarray(from, from + length)
  const end = field.indexOf(0)
  return end === -1 ? field : field.subarray(0, end)
}

const numberAt = (block: Uint8Array, field: readonly [number, number]): number => {
  const [from, length] = field
  const first = block[from]!
  if ((first & 0x80) === 0) {
    const digits = latin1.decode(fieldOf(block, field)).trim()
    if (!/^[0-7]*$/.test(digits)) throw broken("a header has a number that is none")
    return digits === "" ? 0 : Number.parseInt(digits, 8)
  }
  let value = (first & 0x40) === 0 ? first & 0x3f : first - 256
  for (let at = from + 1; at < from + length; at++) value = value * 256 + block[at]!
  if (!Number.isSafeInteger(value)) throw broken("a header has a number that is too large")
  return value
}

/** The checksum's own field counts as blanks. */
const checksumOf = (block: Uint8Array): number => {
  const [from, length] = fields.checksum
  return block.reduce((sum, byte, at) => sum + (at >= from && at < from + length ? 0x20 : byte), 0)
}

export const isEnd = (block: Uint8Array): boolean => block.every((byte) => byte === 0)

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

export const readHeader = (block: Uint8Array): RawHeader => {
  if (numberAt(block, fields.checksum) !== checksumOf(block)) throw broken("a header's checksum is wrong")
  const size = numberAt(block, fields.size)
  if (size < 0) throw broken("a size is negative")
  const isPosix = latin1.decode(block.subarray(fields.magic[0], fields.magic[0] + 6)) === "ustar\0"
  const prefix = isPosix ? fieldOf(block, fields.prefix) : new Uint8Array()
  const name = fieldOf(block, fields.name)
  return {
    name: prefix.length === 0 ? name : joined([prefix, encoder.encode("/"), name]),
    target: fieldOf(block, fields.target),
    mode: numberAt(block, fields.mode) & 0o777,
    size,
    mtime: numberAt(block, fields.mtime),
    type: String.fromCharCode(block[fields.type[0]]!)
  }
}

/** Name and prefix that a name divides into; null when it fits into neither. */
const divided = (name: Uint8Array): readonly [name: Uint8Array, prefix: Uint8Array] | null => {
  const [, nameMax] = fields.name
  if (name.length <= nameMax) return [name, new Uint8Array()]
  const at = name.indexOf(0x2f, name.length - nameMax - 1)
  return at <= 0 || at > fields.prefix[1] || at === name.length - 1
    ? null
    : [name.subarray(at + 1), name.subarray(0, at)]
}

const octal = (value: number, length: number): Uint8Array => encoder.encode(value.toString(8).padStart(length - 1, "0"))

const ustar = (header: RawHeader): Uint8Array<ArrayBuffer> => {
  const block = new Uint8Array(blockBytes)
  const [name, prefix] = divided(header.name) ?? [header.name.subarray(0, fields.name[1]), new Uint8Array()]
  block.set(name, fields.name[0])
  block.set(octal(header.mode, 8), fields.mode[0])
  block.set(octal(0, 8), fields.uid[0])
  block.set(octal(0, 8), fields.gid[0])
  block.set(octal(Math.min(header.size, octalMax), 12), fields.size[0])
  block.set(octal(Math.max(0, Math.min(header.mtime, octalMax)), 12), fields.mtime[0])
  block.set(encoder.encode(header.type), fields.type[0])
  block.set(header.target.subarray(0, fields.target[1]), fields.target[0])
  block.set(encoder.encode("ustar\x0000"), fields.magic[0])
  block.set(prefix, fields.prefix[0])
  block.set(encoder.encode(`${checksumOf(block).toString(8).padStart(6, "0")}\0 `), fields.checksum[0])
  return block
}

/** `length key=value\n`, whose length counts its own digits. */
const paxRecord = (key: string, value: Uint8Array): Uint8Array => {
  const rest = joined([encoder.encode(` ${key}=`), value, encoder.encode("\n")])
  let length = rest.length
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length
  return joined([encoder.encode(String(length)), rest])
}

/** The blocks before a content: one, or with a PAX header before it three and more. `mtime` is whole seconds. */
export const writeHeader = (told: TarHeader): Uint8Array<ArrayBuffer> => {
  const header = { ...told, name: bytesOfName(told.name), target: bytesOfName(told.target) }
  const { name, target, size, mtime } = header
  const pax = joined([
    ...(divided(name) === null ? [paxRecord("path", name)] : []),
    ...(target.length > fields.target[1] ? [paxRecord("linkpath", target)] : []),
    ...(size > octalMax ? [paxRecord("size", encoder.encode(String(size)))] : []),
    ...(mtime < 0 || mtime > octalMax ? [paxRecord("mtime", encoder.encode(String(mtime)))] : [])
  ])
  if (pax.length === 0) return ustar(header)
  const before = { name: encoder.encode("PaxHeader"), target: new Uint8Array(), mode: 0o644, mtime: 0, type: "x" }
  return joined([ustar({ ...before, size: pax.length }), pax, new Uint8Array(paddingOf(pax.length)), ustar(header)])
}

/** Records of a PAX header, the last of a key. */
export const readPax = (bytes: Uint8Array): ReadonlyMap<string, Uint8Array> => {
  const records = new Map<string, Uint8Array>()
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const blank = bytes.indexOf(0x20, at)
    const digits = blank === -1 || blank - at > 10 ? "" : latin1.decode(bytes.subarray(at, blank))
    const end = at + Number(digits)
    if (!/^\d+$/.test(digits) || end <= blank + 1 || end > bytes.length || bytes[end - 1] !== 0x0a) {
      throw broken("a PAX header is broken")
    }
    const equals = bytes.indexOf(0x3d, blank)
    if (equals === -1 || equals >= end) throw broken("a PAX header is broken")
    records.set(latin1.decode(bytes.subarray(blank + 1, equals)), bytes.subarray(equals + 1, end - 1))
    at = end
  }
  return records
}
