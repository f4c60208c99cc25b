/** The content of an image as pieces, and an image made of pieces. */
import { open } from "node:fs/promises"
import type { ImagePiece } from "../../runtime/Runtime.ts"
import { chunkBytes, filledRanges, ImageChunks, isZero, usedChunks } from "./imageChunks.ts"

/** In ascending order, at most a mebibyte each. They depend on the content alone, and not on how the file system stores it. */
export async function* imagePieces(path: string): AsyncGenerator<ImagePiece> {
  const chunks = await ImageChunks.open(path)
  try {
    for (const chunk of await usedChunks(path, chunks.size)) {
      const bytes = await chunks.read(chunk, Buffer.allocUnsafe(chunkBytes))
      if (isZero(bytes)) continue
      for (const [from, to] of filledRanges(bytes)) {
        yield { offset: chunk * chunkBytes + from, bytes: bytes.subarray(from, to) }
      }
    }
  } finally {
    await chunks.close()
  }
}

/** Makes the file, which does not exist, and flushes it. Refuses a piece outside of it. */
export const writePieces = async (
  path: string,
  sizeBytes: number,
  pieces: AsyncIterable<ImagePiece>
): Promise<void> => {
  const file = await open(path, "wx", 0o600)
  try {
    await file.truncate(sizeBytes)
    for await (const { offset, bytes } of pieces) {
      if (offset < 0 || offset + bytes.length > sizeBytes) throw new Error("a piece is outside of the image")
      for (let done = 0; done < bytes.length; ) {
        done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten
      }
    }
    await file.sync()
  } finally {
    await file.close()
  }
}
