/** Frames of bytes of unknown number. */
import { describe, expect, it } from "vitest"
import { ByteQueue } from "../../../src/runtime/ByteQueue.ts"
import { byteFrames, framedBytes } from "../../../src/runtime/byteFrames.ts"

const MiB = 1024 ** 2

async function* of(...pieces: ReadonlyArray<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces
}

const gathered = async (bytes: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const all: Array<Uint8Array> = []
  for await (const piece of bytes) all.push(piece)
  return Buffer.concat(all)
}

const read = (frames: Buffer) => gathered(framedBytes(new ByteQueue([frames][Symbol.iterator]() as never)))

describe("bytes in frames", () => {
  it("arrive as they were sent, in pieces of any length", async () => {
    const sent = [Buffer.from("a"), Buffer.alloc(0), Buffer.alloc(3 * MiB + 1, "b")]
    expect((await read(await gathered(byteFrames(of(...sent))))).equals(Buffer.concat(sent))).toBe(true)
    expect(await read(await gathered(byteFrames(of())))).toHaveLength(0)
  })

  it("are refused where they end too soon, differ from their digest, or come in too long a piece", async () => {
    const frames = await gathered(byteFrames(of(Buffer.from("content"))))
    for (const length of [0, 3, 8, 12, frames.length - 1]) {
      await expect(read(frames.subarray(0, length))).rejects.toThrow("too soon")
    }
    const changed = Buffer.from(frames)
    changed[5]! ^= 1
    await expect(read(changed)).rejects.toThrow("SHA-256")
    await expect(read(Buffer.from([255, 255, 255, 255]))).rejects.toThrow("too long")
  })
})
