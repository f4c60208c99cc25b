/**
 * The content of an image as bytes, for the file of a snapshot and for connections to hosts:
 *
 *     piece      u64le offset, u32le length, that many bytes of the image; in ascending order; all other ranges are zeros
 *     end        u64le the size of the image, u32le 0, the SHA-256 of all before it
 */
import { createHash, type Hash } from "node:crypto"
import type { ByteQueue } from "./ByteQueue.ts"
import type { ImagePiece } from "./Runtime.ts"

export const pieceMaxBytes = 1024 ** 2
export const pieceHeadBytes = 12
export const digestBytes = 32
/** Each piece but the last begins and ends at such a multiple, so that tiny ones cannot multiply the work. */
export const alignBytes = 4096

const headOfPiece = (offset: number, length: number): Buffer => {
  const head = Buffer.alloc(pieceHeadBytes)
  head.writeBigUInt64LE(BigInt(offset))
  head.writeUInt32LE(length, 8)
  return head
}

/** @param digest Of all that the receiver has already. */
export async function* imageFrames(
  sizeBytes: number,
  pieces: AsyncIterable<ImagePiece>,
  digest: Hash = createHash("sha256")
): AsyncGenerator<Uint8Array> {
  for await (const { offset, bytes } of pieces) {
    const pieceHead = headOfPiece(offset, bytes.length)
    digest.update(pieceHead).update(bytes)
    yield pieceHead
    yield bytes
  }
  const end = headOfPiece(sizeBytes, 0)
  yield Buffer.concat([end, digest.update(end).digest()])
}

/** Why the next piece must not be as its head says; null: it may. `from`: the end of the one before. */
export const faultOfPiece = (
  { offset, length }: { readonly offset: number; readonly length: number },
  from: number,
  sizeBytes: number
): "order" | "shape" | null => {
  const end = offset + length
  const isAligned = offset % alignBytes === 0 && (length % alignBytes === 0 || end === sizeBytes)
  if (offset < from || end > sizeBytes) return "order"
  return length > pieceMaxBytes || !isAligned ? "shape" : null
}

/** Reads `imageFrames` of another process of the fleet. Throws where they end too soon, do not fit the size, or have another digest. */
export async function* framedPieces(input: ByteQueue, sizeBytes: number): AsyncGenerator<ImagePiece> {
  const digest = createHash("sha256")
  const next = async (length: number): Promise<Buffer> => {
    const bytes = await input.take(length)
    if (bytes === null) throw new Error("the content of the snapshot ends too soon")
    return bytes
  }
  let from = 0
  while (true) {
    const pieceHead = await next(pieceHeadBytes)
    const offset = Number(pieceHead.readBigUInt64LE())
    const length = pieceHead.readUInt32LE(8)
    digest.update(pieceHead)
    if (length === 0) {
      if (offset !== sizeBytes) throw new Error("the content of the snapshot has another size")
      break
    }
    if (faultOfPiece({ offset, length }, from, sizeBytes) !== null) {
      throw new Error("the content of the snapshot has a piece that does not fit")
    }
    const bytes = await next(length)
    digest.update(bytes)
    from = offset + length
    yield { offset, bytes }
  }
  if (!digest.digest().equals(await next(digestBytes)))
    throw new Error("the content of the snapshot has another SHA-256")
}
