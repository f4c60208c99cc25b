/**
 * Reading an image twice: first while it is written to, which takes long, then what has changed since, while it is held still, which does not.
 *
 * Both go by chunks of a mebibyte. Of each that is not only zeros a digest is kept: 32 bytes for each mebibyte that is used.
 */
import { hash } from "node:crypto"
import { type FileHandle, open } from "node:fs/promises"
import { fileExtents } from "../host/linux/fileExtents.ts"
import { writtenAt } from "../host/linux/StillVolume.ts"

const chunkBytes = 1024 ** 2
const grain = 64 * 1024
const zeros = Buffer.alloc(chunkBytes)
/** File systems tell time in steps of some milliseconds: what was written within one cannot be told apart. */
const clockStepNs = 1_000_000_000n

export type Take = (offset: number, bytes: Buffer) => Promise<void>

/** Of an image as it was read: for each chunk that is not only zeros, by its number, a digest. */
export interface ImageDigest {
  readonly chunks: Map<number, Buffer>
  /** When it was written to last before it was read; null: too lately to tell by it whether it was since. */
  readonly writtenAt: bigint | null
}

const isZero = (bytes: Buffer): boolean => bytes.equals(zeros.subarray(0, bytes.length))

const digestOf = (bytes: Buffer): Buffer => hash("sha256", bytes, "buffer")

/** Where a buffer is not only zeros, by the grain. */
const filled = (buffer: Buffer): ReadonlyArray<readonly [number, number]> => {
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

/** The numbers of the chunks in which there is anything but holes. */
const usedChunks = async (path: string, size: number): Promise<Set<number>> => {
  const found = new Set<number>()
  for (const [from, to] of (await fileExtents(path)) ?? [[0, size]]) {
    for (let chunk = Math.floor(from / chunkBytes); chunk * chunkBytes < Math.min(to, size); chunk++) found.add(chunk)
  }
  return found
}

const readChunk = async (file: FileHandle, chunk: number, size: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(Math.min(chunkBytes, size - chunk * chunkBytes))
  for (let done = 0; done < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.length - done, chunk * chunkBytes + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes
}

const withImage = async <A>(path: string, use: (file: FileHandle, size: number) => Promise<A>): Promise<A> => {
  const file = await open(path, "r")
  try {
    return await use(file, (await file.stat()).size)
  } finally {
    await file.close()
  }
}

/** Whatever is no hole, in pieces. */
export const readImage = (path: string, take: Take, signal: AbortSignal): Promise<ImageDigest> =>
  withImage(path, async (file, size) => {
    const before = await writtenAt(path)
    const chunks = new Map<number, Buffer>()
    const isLongAgo = BigInt(Date.now()) * 1_000_000n - before > clockStepNs
    for (const chunk of await usedChunks(path, size)) {
      signal.throwIfAborted()
      const bytes = await readChunk(file, chunk, size)
      if (isZero(bytes)) continue
      chunks.set(chunk, digestOf(bytes))
      for (const [from, to] of filled(bytes)) await take(chunk * chunkBytes + from, bytes.subarray(from, to))
    }
    return { chunks, writtenAt: isLongAgo ? before : null }
  })

/** What is another than when it was read before, in pieces. `known` is then what is known of it now. */
export const readChanges = (path: string, known: ImageDigest, take: Take, signal: AbortSignal): Promise<ImageDigest> =>
  withImage(path, async (file, size) => {
    if (known.writtenAt !== null && (await writtenAt(path)) === known.writtenAt) return known
    const chunks = new Map<number, Buffer>()
    const used = await usedChunks(path, size)
    for (const chunk of new Set([...used, ...known.chunks.keys()])) {
      signal.throwIfAborted()
      const bytes = await readChunk(file, chunk, size)
      const before = known.chunks.get(chunk)
      const isNothing = isZero(bytes)
      if (isNothing && before === undefined) continue
      const digest = digestOf(bytes)
      if (!isNothing) chunks.set(chunk, digest)
      if (before?.equals(digest) === true) continue
      // All of it, for zeros come where something was.
      if (before !== undefined) await take(chunk * chunkBytes, bytes)
      else for (const [from, to] of filled(bytes)) await take(chunk * chunkBytes + from, bytes.subarray(from, to))
    }
    return { chunks, writtenAt: null }
  })
