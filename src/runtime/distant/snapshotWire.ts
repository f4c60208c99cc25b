/**
 * A connection over `atoll-snapshot/1`: the content of one snapshot or image, from a host or to it.
 *
 *     service: what it asks for, `AskedContent`
 *     host:    `go`, `done` (it has the content already), or the error
 *     from a host:  the content (`imageFrames.ts`; of an image `byteFrames.ts`), and the end of the connection
 *     to a host:    the content, then the host says `done` or the error
 *
 * Each but the content is a message: two bytes with the length of its JSON, and the JSON.
 */
import type { Duplex } from "node:stream"
import { Option, Schema } from "effect"
import type { ByteQueue } from "../ByteQueue.ts"
import { RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported } from "../Runtime.ts"
import { Id } from "./hostTold.ts"

/** The longest error, of which each character takes at most six bytes. */
const MESSAGE_MAX_BYTES = 16 * 1024
const LENGTH_BYTES = 2

export const VolumeBytes = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 50 }))
/** A user id of Linux. */
export const Owner = Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2 ** 31 - 1 })))

/** Of an image's manifest. */
export const Digest = Schema.String.check(Schema.isPattern(/^sha256:[0-9a-f]{64}$/))

const AskedContent = Schema.Union([
  Schema.Struct({ act: Schema.Literal("read"), hostId: Id, snapshotId: Id }),
  Schema.Struct({
    act: Schema.Literal("receive"),
    hostId: Id,
    snapshotId: Id,
    sizeBytes: VolumeBytes,
    owner: Owner
  }),
  /** The archive of an image: until `accept`. */
  Schema.Struct({ act: Schema.Literal("receiveArchive"), hostId: Id, imageId: Id }),
  Schema.Struct({ act: Schema.Literals(["readImage", "storeImage"]), hostId: Id, digest: Digest })
])
export type AskedContent = typeof AskedContent.Type

const Told = Schema.Union([
  Schema.Struct({ _tag: Schema.Literals(["go", "done"]) }),
  RuntimeRefused,
  RuntimeUnavailable,
  RuntimeUnsupported
])
export type Told = typeof Told.Type

const askedJson = Schema.fromJsonString(AskedContent)
const toldJson = Schema.fromJsonString(Told)

const framed = (json: string): Buffer => {
  const bytes = Buffer.from(json)
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

export const askedFrame = (asked: AskedContent): Buffer => framed(Schema.encodeSync(askedJson)(asked))
export const toldFrame = (told: Told): Buffer => framed(Schema.encodeSync(toldJson)(told))

/** Null when the connection ends before, or the message is too long. */
const readMessage = async (from: ByteQueue): Promise<string | null> => {
  const bytes = (await from.take(LENGTH_BYTES))?.readUInt16BE() ?? 0
  if (bytes === 0 || bytes > MESSAGE_MAX_BYTES) return null
  return (await from.take(bytes))?.toString("utf8") ?? null
}

const decoded = <A>(decode: (json: string) => Option.Option<A>, json: string | null): A | null =>
  json === null ? null : Option.getOrNull(decode(json))

const decodeAsked = Schema.decodeOption(askedJson)
const decodeTold = Schema.decodeOption(toldJson)

/** Null when the connection ends before, or it is no such message. */
export const readAsked = async (from: ByteQueue): Promise<AskedContent | null> =>
  decoded(decodeAsked, await readMessage(from))
export const readTold = async (from: ByteQueue): Promise<Told | null> => decoded(decodeTold, await readMessage(from))

/** Destroys the connection when the promise takes longer. */
export const within = async <A>(connection: Duplex, ms: number, promise: Promise<A>): Promise<A> => {
  const timer = setTimeout(() => connection.destroy(new Error("the other end is silent")), ms)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
  }
}
