/// <reference types="node" />
/** A directory of this machine as a tar archive, made while it is sent. */
import { type FileHandle, lstat, open, readdir, readlink, stat } from "node:fs/promises"
import { nameOfBytes } from "../archive/names.ts"
import { paddingOf, type TarHeader, writeHeader } from "../archive/tarHeader.ts"
import type { DirectoryOptions, DirectoryTransfer } from "../DirectoryOptions.ts"
import type { Transport } from "../http/Transport.ts"
import { type LocalPath, ownPath, within } from "./localPath.ts"

/** Small entries are gathered to pieces of this size. */
const pieceBytes = 256 * 1024
/** Files up to this size are read at once, so their content is as long as their header says. */
const smallBytes = 64 * 1024
const leftOutMax = 1000
/** Files with several names that are remembered; what is more is sent once for each name. */
const linkedMax = 100_000

export const uploadDirectory = async (
  transport: Transport,
  at: { readonly id: string; readonly path: string },
  localPath: string | Uint8Array,
  { onProgress, filter, signal }: DirectoryOptions
): Promise<DirectoryTransfer> => {
  const root = ownPath(localPath)
  if (!(await stat(root)).isDirectory()) throw new TypeError(`${root} is not a directory.`)
  /** What this machine's files failed with, which is no failure of the connection. */
  let failure: unknown = null
  let leftOut: Array<string> = []
  const body = () => {
    leftOut = []
    const pieces = packed(root, { onProgress, filter, leftOut })
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { done, value } = await pieces.next()
            if (done === true) controller.close()
            else controller.enqueue(value)
          } catch (thrown) {
            failure = thrown
            controller.error(thrown)
          }
        },
        cancel: async () => void (await pieces.return())
      },
      { highWaterMark: 0 }
    )
  }
  const ending = new AbortController()
  try {
    const { entries, bytes } = await transport.call("uploadArchive", {
      parameters: at,
      body,
      signal: signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]),
      attemptSeconds: null
    })
    return { entries, bytes, leftOut }
  } catch (thrown) {
    throw failure ?? thrown
  } finally {
    // Refused before all was sent: the rest is not read.
    ending.abort()
  }
}

/** As text a byte that is no UTF-8 is U+FFFD, and nothing is found under that name. */
const mayBeNoText = (name: string): boolean => name.includes("\ufffd")

/** In order. */
const namesIn = async (folder: LocalPath): Promise<ReadonlyArray<LocalPath>> => {
  const names = await readdir(folder)
  if (!names.some(mayBeNoText)) return names.toSorted()
  return (await readdir(folder, { encoding: "buffer" })).toSorted(Buffer.compare)
}

const textOf = (name: LocalPath): string => (typeof name === "string" ? name : nameOfBytes(name))

const targetOf = async (link: LocalPath): Promise<string> => {
  const target = await readlink(link)
  return mayBeNoText(target) ? nameOfBytes(await readlink(link, { encoding: "buffer" })) : target
}

interface Packing extends Pick<DirectoryOptions, "onProgress" | "filter"> {
  readonly leftOut: Array<string>
}

/** The archive in pieces that are the reader's to keep. */
export async function* packed(
  root: LocalPath,
  { onProgress, filter, leftOut }: Packing
): AsyncGenerator<Uint8Array, void, undefined> {
  let gathered = new Uint8Array(pieceBytes)
  let length = 0
  let entries = 0
  let bytes = 0
  const linked = new Map<string, string>()

  function* gather(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let rest = part; rest.length > 0; ) {
      const taken = rest.subarray(0, gathered.length - length)
      gathered.set(taken, length)
      length += taken.length
      rest = rest.subarray(taken.length)
      if (length < gathered.length) continue
      yield gathered
      gathered = new Uint8Array(pieceBytes)
      length = 0
    }
  }

  async function* content(file: FileHandle, path: string, head: (size: number) => TarHeader) {
    const { size } = await file.stat()
    const small = new Uint8Array(Math.min(size, smallBytes))
    let { bytesRead } = await file.read(small, 0, small.length, 0)
    if (size <= smallBytes) {
      yield* gather(writeHeader(head(bytesRead)))
      yield* gather(small.subarray(0, bytesRead))
      bytes += bytesRead
      yield* gather(new Uint8Array(paddingOf(bytesRead)))
      return
    }
    yield* gather(writeHeader(head(size)))
    yield* gather(small.subarray(0, bytesRead))
    bytes += bytesRead
    const piece = new Uint8Array(pieceBytes)
    for (let done = bytesRead; done < size; done += bytesRead) {
      ;({ bytesRead } = await file.read(piece, 0, Math.min(piece.length, size - done), done))
      if (bytesRead === 0) throw new Error(`${root}/${path} was cut while it was being read.`)
      yield* gather(piece.subarray(0, bytesRead))
      bytes += bytesRead
      onProgress?.({ entries, bytes, path })
    }
    yield* gather(new Uint8Array(paddingOf(size)))
  }

  async function* directory(above: string, folder: LocalPath): AsyncGenerator<Uint8Array, void, undefined> {
    for (const name of await namesIn(folder)) {
      const path = above === "" ? textOf(name) : `${above}/${textOf(name)}`
      if (filter !== undefined && !filter(path)) continue
      const local = within(folder, name)
      const found = await lstat(local, { bigint: true })
      const head = (type: string, name: string, size = 0, target = ""): TarHeader => ({
        name,
        target,
        mode: Number(found.mode) & 0o777,
        size,
        mtime: Math.floor(Number(found.mtimeMs) / 1000),
        type
      })
      const key = found.nlink > 1n && found.isFile() ? `${found.dev} ${found.ino}` : null
      const first = key === null ? undefined : linked.get(key)
      if (first !== undefined) yield* gather(writeHeader(head("1", path, 0, first)))
      else if (found.isSymbolicLink()) yield* gather(writeHeader(head("2", path, 0, await targetOf(local))))
      else if (found.isDirectory()) yield* gather(writeHeader(head("5", `${path}/`)))
      else if (found.isFile()) {
        const file = await open(local, "r")
        try {
          yield* content(file, path, (size) => head("0", path, size))
        } finally {
          await file.close()
        }
        if (key !== null && linked.size < linkedMax) linked.set(key, path)
      } else {
        if (leftOut.length < leftOutMax) leftOut.push(path)
        continue
      }
      entries++
      onProgress?.({ entries, bytes, path })
      if (found.isDirectory()) yield* directory(path, local)
    }
  }

  yield* directory("", root)
  // Two blocks of zeros are the end.
  yield* gather(new Uint8Array(1024))
  if (length > 0) yield gathered.subarray(0, length)
}
