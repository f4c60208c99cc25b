/** Writes the file of a snapshot. @see SnapshotHeader.ts */
import { createHash } from "node:crypto"
import { pipeline, Readable } from "node:stream"
import { constants, createZstdCompress } from "node:zlib"
import { imageFrames } from "../../runtime/imageFrames.ts"
import type { ImagePiece } from "../../runtime/Runtime.ts"

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
    pipeline(
      Readable.from(imageFrames(sizeBytes, pieces, createHash("sha256").update(head)), { objectMode: false }),
      zstd,
      () => {}
    )
    try {
      yield* zstd as AsyncIterable<Buffer>
    } finally {
      zstd.destroy()
    }
  }
  return Readable.from(after(offset, whole()), { objectMode: false })
}
