/**
 * Bytes of unknown number on a connection between processes of a fleet:
 *
 *     piece      u32le length, that many bytes
 *     end        u32le 0, the SHA-256 of the bytes of all pieces
 */
import { createHash } from "node:crypto"
import type { ByteQueue } from "./ByteQueue.ts"

const pieceMaxBytes = 1024 ** 2
const headBytes = 4
const digestBytes = 32

const headOf = (length: number): Buffer => {
  const head = Buffer.alloc(headBytes)
  head.writeUInt32LE(length)
  return head
}

export async function* byteFrames(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256")
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += pieceMaxBytes) {
      const bytes = piece.subarray(at, at + pieceMaxBytes)
      digest.update(bytes)
      yield headOf(bytes.length)
      yield bytes
    }
  }
  yield Buffer.concat([headOf(0), digest.digest()])
}

/** Reads `byteFrames`. Throws where they end too soon, or have another digest. */
export async function* framedBytes(input: ByteQueue): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256")
  const next = async (length: number): Promise<Buffer> => {
    const bytes = await input.take(length)
    if (bytes === null) throw new Error("the bytes end too soon")
    return bytes
  }
  while (true) {
    const length = (await next(headBytes)).readUInt32LE()
    if (length === 0) break
    if (length > pieceMaxBytes) throw new Error("a piece of the bytes is too long")
    const bytes = await next(length)
    digest.update(bytes)
    yield bytes
  }
  if (!digest.digest().equals(await next(digestBytes))) throw new Error("the bytes have another SHA-256")
}
