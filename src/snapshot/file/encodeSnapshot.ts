/** Writes the file of a snapshot. @see SnapshotHeader.ts */
import { createHash } from "node:crypto"
import { pipeline, Readable } from "node:stream"
import { constants, createZstdCompress } from "node:zlib"
import type { ImagePiece } from "../../runtime/Runtime.ts"
import { pieceHeadBytes } from "./SnapshotHeader.ts"

const headOfPiece = (offset: number, length: number): Buffer => {
  const head = Buffer.alloc(pieceHeadBytes)
  head.writeBigUInt64LE(BigInt(offset))
  head.writeUInt32LE(length, 8)
  return head
}

async function* framesOf(
  head: Buffer,
  sizeBytes: number,
  pieces: AsyncIterable<ImagePiece>
): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256").update(head)
  for await (const { offset, bytes } of pieces) {
    const pieceHead = headOfPiece(offset, bytes.length)
    digest.update(pieceHead).update(bytes)
    yield pieceHead
    yield bytes
  }
  const end = headOfPiece(sizeBytes, 0)
  yield Buffer.concat([end, digest.update(end).digest()])
}

async function* after(offset: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = offset
  for await (const chunk of chunks) {
    if (chunk.length > left) yield chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
  }
}

/** @param offset How many bytes are left out at the beginning. */
export const encodeSnapshot = (
  head: Buffer,
  { sizeBytes, pieces }: { readonly sizeBytes: number; readonly pieces: AsyncIterable<ImagePiece> },
  offset: number
): Readable => {
  const zstd = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  async function* whole() {
    yield head
    // Its fault destroys `zstd`, which throws here.
    pipeline(Readable.from(framesOf(head, sizeBytes, pieces), { objectMode: false }), zstd, () => {})
    try {
      yield* zstd as AsyncIterable<Buffer>
    } finally {
      zstd.destroy()
    }
  }
  return Readable.from(after(offset, whole()), { objectMode: false })
}
