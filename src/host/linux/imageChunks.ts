/** Reads the used parts of a sparse image in chunks of a mebibyte. */
import { type FileHandle, open } from "node:fs/promises"
import { fileExtents } from "./fileExtents.ts"

export const chunkBytes = 1024 ** 2
const grain = 64 * 1024
const zeros = Buffer.alloc(chunkBytes)

export const isZero = (bytes: Buffer): boolean => bytes.equals(zeros.subarray(0, bytes.length))

/** The ranges of a buffer that are not all zeros, by a grain of 64 KiB. */
export const filledRanges = (buffer: Buffer): ReadonlyArray<readonly [number, number]> => {
  const parts: Array<[number, number]> = []
  for (let from = 0; from < buffer.length; from += grain) {
    const to = Math.min(from + grain, buffer.length)
    if (isZero(buffer.subarray(from, to))) continue
    const last = parts.at(-1)
    if (last?.[1] === from) last[1] = to
    else parts.push([from, to])
  }
  return parts
}

/** The numbers of the chunks that are not all holes, in ascending order. */
export const usedChunks = async (path: string, size: number): Promise<Set<number>> => {
  const found = new Set<number>()
  for (const [from, to] of (await fileExtents(path)) ?? [[0, size]]) {
    for (let chunk = Math.floor(from / chunkBytes); chunk * chunkBytes < Math.min(to, size); chunk++) found.add(chunk)
  }
  return found
}

export class ImageChunks {
  readonly size: number
  private readonly file: FileHandle

  private constructor(file: FileHandle, size: number) {
    this.file = file
    this.size = size
  }

  static async open(path: string): Promise<ImageChunks> {
    const file = await open(path, "r")
    return new ImageChunks(file, (await file.stat()).size)
  }

  /** Fills the beginning of `buffer`, and returns that part of it. What a file that became shorter lacks is zeros. */
  async read(chunk: number, buffer: Buffer): Promise<Buffer> {
    const bytes = buffer.subarray(0, Math.min(chunkBytes, this.size - chunk * chunkBytes))
    for (let done = 0; done < bytes.length; ) {
      const { bytesRead } = await this.file.read(bytes, done, bytes.length - done, chunk * chunkBytes + done)
      if (bytesRead === 0) bytes.fill(0, done)
      done = bytesRead === 0 ? bytes.length : done + bytesRead
    }
    return bytes
  }

  close(): Promise<void> {
    return this.file.close()
  }
}
