/** Reads the file of a snapshot, which a stranger may have made. @see SnapshotHeader.ts */
import { createHash } from "node:crypto"
import { pipeline, Readable } from "node:stream"
import { constants, createZstdDecompress } from "node:zlib"
import { Schema } from "effect"
import { ByteQueue } from "../../runtime/ByteQueue.ts"
import { digestBytes, faultOfPiece, pieceHeadBytes } from "../../runtime/imageFrames.ts"
import type { ImagePiece } from "../../runtime/Runtime.ts"
import { headerMaxBytes, magic, SnapshotHeader } from "./SnapshotHeader.ts"

/** The file is not whole, or no snapshot's. The message is a part of a sentence for the client. */
export class SnapshotFileFault extends Error {}

/** The content does not fit into the storage limit. */
export class SnapshotTooLarge extends Error {}

/** 8 MiB: more than any level of zstd below the long ones takes. */
const windowLogMax = 23

const decodeHeader = Schema.decodeUnknownSync(SnapshotHeader)
const anyMagic = /^atoll snapshot \d{1,6}\n/

export interface OpenedSnapshot {
  readonly header: SnapshotHeader
  /** All up to the end of the header. */
  readonly head: Buffer
  /** Throws SnapshotFileFault or SnapshotTooLarge; ends once the digest is right. @param contentMaxBytes Of all pieces together. */
  readonly pieces: (contentMaxBytes: number) => AsyncGenerator<ImagePiece>
  /** For a file whose pieces are not read. */
  readonly release: () => void
}

const endsTooSoon = () => new SnapshotFileFault("it ends too soon")

/** `source` stays open when the reading stops before its end. */
export const openSnapshot = async (source: Readable): Promise<OpenedSnapshot> => {
  const input = new ByteQueue(source.iterator({ destroyOnReturn: false }))
  return await opened(input).catch((cause: unknown) => {
    released(input)
    throw cause
  })
}

/** An answer to a client that still sends is received only if the rest is drained, which this reader would prevent. */
const released = (input: ByteQueue): void => void input.release().catch(() => {})

const opened = async (input: ByteQueue): Promise<OpenedSnapshot> => {
  const start = await taken(input, magic.length + 4)
  if (!start.subarray(0, magic.length).equals(magic)) {
    const isOther = anyMagic.test(start.toString("latin1"))
    throw new SnapshotFileFault(isOther ? "it was written by a newer Atoll" : "it is no snapshot file of Atoll")
  }
  const length = start.readUInt32LE(magic.length)
  if (length > headerMaxBytes) throw new SnapshotFileFault("its header is too large")
  const json = await taken(input, length)
  return {
    header: parsed(json),
    head: Buffer.concat([start, json]),
    release: () => released(input),
    pieces: (contentMaxBytes) => piecesOf(input, Buffer.concat([start, json]), parsed(json).sizeBytes, contentMaxBytes)
  }
}

const parsed = (json: Buffer): SnapshotHeader => {
  try {
    return decodeHeader(JSON.parse(json.toString()))
  } catch {
    throw new SnapshotFileFault("its header is invalid")
  }
}

const taken = async (input: ByteQueue, length: number): Promise<Buffer> => {
  const bytes = await input.take(length).catch(() => null)
  if (bytes === null) throw endsTooSoon()
  return bytes
}

/** Throws where the next piece must not be as its head says. */
const requirePlausible = (offset: number, length: number, from: number, sizeBytes: number): void => {
  const fault = faultOfPiece({ offset, length }, from, sizeBytes)
  if (fault === "order") throw new SnapshotFileFault("its content is out of order, or outside of the volume")
  if (fault === "shape") throw new SnapshotFileFault("it has an invalid piece")
}

async function* piecesOf(
  input: ByteQueue,
  head: Buffer,
  sizeBytes: number,
  contentMaxBytes: number
): AsyncGenerator<ImagePiece> {
  const zstd = createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: windowLogMax } })
  let isCut = false
  pipeline(
    Readable.from(
      input.rest(() => {
        isCut = true
      }),
      { objectMode: false }
    ),
    zstd,
    () => {}
  )
  const frames = new ByteQueue(zstd.iterator())
  const digest = createHash("sha256").update(head)
  const nextOrEnd = (length: number): Promise<Buffer | null> =>
    frames.take(length).catch((cause: NodeJS.ErrnoException) => {
      throw isCut || cause.code === "Z_BUF_ERROR"
        ? endsTooSoon()
        : new SnapshotFileFault("it is not compressed as it should be")
    })
  const next = async (length: number): Promise<Buffer> => {
    const bytes = await nextOrEnd(length)
    if (bytes === null) throw endsTooSoon()
    return bytes
  }
  let from = 0
  let content = 0
  try {
    while (true) {
      const pieceHead = await next(pieceHeadBytes)
      const offset = Number(pieceHead.readBigUInt64LE())
      const length = pieceHead.readUInt32LE(8)
      digest.update(pieceHead)
      if (length === 0) break
      requirePlausible(offset, length, from, sizeBytes)
      content += length
      if (content > contentMaxBytes) throw new SnapshotTooLarge()
      const bytes = await next(length)
      digest.update(bytes)
      from = offset + length
      yield { offset, bytes }
    }
    if (!digest.digest().equals(await next(digestBytes))) throw new SnapshotFileFault("its SHA-256 is wrong")
    // The end of the compression, too.
    if ((await nextOrEnd(1)) !== null) throw new SnapshotFileFault("there is data after its end")
  } finally {
    zstd.destroy()
    released(input)
  }
}
