/// <reference types="node" />
/** A directory of this machine as a tar archive, made while it is sent. */
import type { BigIntStats } from "node:fs"
import { type FileHandle, lstat, open, readdir, readlink, stat } from "node:fs/promises"
import { bytesOfName, nameOfBytes } from "../archive/names.ts"
import type { DirectoryOptions, DirectoryTransfer } from "../DirectoryOptions.ts"
import { blockBytes, entryTypes, paddingOf, writeHeader } from "../generated/tar/tarHeader.ts"
import type { Transport } from "../http/Transport.ts"
import { type LocalPath, ownPath, within } from "./localPath.ts"
import { piecesBody } from "./piecesBody.ts"

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
  const { result, leftOut } = await sendDirectory(localPath, { onProgress, filter, signal }, (body, signal) =>
    transport.call("uploadArchive", { parameters: at, ...{ body, signal, attemptSeconds: null } })
  )
  const { entries, bytes } = result
  return { entries, bytes, leftOut }
}

/** Sends the directory as the body of a request. */
export const sendDirectory = async <A>(
  localPath: string | Uint8Array,
  { onProgress, filter, signal }: DirectoryOptions,
  send: (body: () => ReadableStream<Uint8Array>, signal: AbortSignal) => Promise<A>
): Promise<{ readonly result: A; readonly leftOut: ReadonlyArray<string> }> => {
  const root = ownPath(localPath)
  if (!(await stat(root)).isDirectory()) throw new TypeError(`${root} is not a directory.`)
  /** What this machine's files failed with, which is no failure of the connection. */
  let failure: unknown = null
  let leftOut: Array<string> = []
  const body = () => {
    leftOut = []
    return piecesBody(packed(root, { onProgress, filter, leftOut }), (thrown) => {
      failure = thrown
    })
  }
  const ending = new AbortController()
  try {
    const result = await send(body, signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]))
    return { result, leftOut }
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

interface PackingOptions extends Pick<DirectoryOptions, "onProgress" | "filter"> {
  readonly leftOut: Array<string>
}

/** The archive in pieces that are the reader's to keep. */
export const packed = (root: LocalPath, options: PackingOptions): AsyncGenerator<Uint8Array, void, undefined> =>
  new Packing(root, options).pieces()

class Packing {
  readonly #root: LocalPath
  readonly #options: PackingOptions
  /** The first name of each file that has several, by device and inode. */
  readonly #linked = new Map<string, string>()
  #gathered = new Uint8Array(pieceBytes)
  #gatheredBytes = 0
  #entries = 0
  #bytes = 0

  constructor(root: LocalPath, options: PackingOptions) {
    this.#root = root
    this.#options = options
  }

  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* this.#directory("", this.#root)
    // Two blocks of zeros are the end.
    yield* this.#gather(new Uint8Array(2 * blockBytes))
    if (this.#gatheredBytes > 0) yield this.#gathered.subarray(0, this.#gatheredBytes)
  }

  async *#directory(above: string, folder: LocalPath): AsyncGenerator<Uint8Array, void, undefined> {
    const { filter, leftOut } = this.#options
    for (const name of await namesIn(folder)) {
      const path = above === "" ? textOf(name) : `${above}/${textOf(name)}`
      if (filter !== undefined && !filter(path)) continue
      const local = within(folder, name)
      const found = await lstat(local, { bigint: true })
      if (!found.isFile() && !found.isDirectory() && !found.isSymbolicLink()) {
        if (leftOut.length < leftOutMax) leftOut.push(path)
        continue
      }
      yield* this.#entry(path, local, found)
      this.#entries++
      this.#tell(path)
      if (found.isDirectory()) yield* this.#directory(path, local)
    }
  }

  async *#entry(path: string, local: LocalPath, found: BigIntStats): AsyncGenerator<Uint8Array, void, undefined> {
    const header = (type: string, name: string, size = 0, target = "") =>
      writeHeader({
        name: bytesOfName(name),
        target: bytesOfName(target),
        mode: Number(found.mode) & 0o777,
        size,
        mtime: Math.floor(Number(found.mtimeMs) / 1000),
        type
      })
    if (found.isSymbolicLink()) return yield* this.#gather(header(entryTypes.symlink, path, 0, await targetOf(local)))
    if (found.isDirectory()) return yield* this.#gather(header(entryTypes.directory, `${path}/`))
    const key = found.nlink > 1n ? `${found.dev} ${found.ino}` : null
    const first = key === null ? undefined : this.#linked.get(key)
    if (first !== undefined) return yield* this.#gather(header(entryTypes.hardLink, path, 0, first))
    const file = await open(local, "r")
    try {
      yield* this.#content(file, path, (size) => header(entryTypes.file, path, size))
    } finally {
      await file.close()
    }
    if (key !== null && this.#linked.size < linkedMax) this.#linked.set(key, path)
  }

  async *#content(
    file: FileHandle,
    path: string,
    header: (size: number) => Uint8Array
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { size } = await file.stat()
    const small = new Uint8Array(Math.min(size, smallBytes))
    let { bytesRead } = await file.read(small, 0, small.length, 0)
    const isSmall = size <= smallBytes
    const length = isSmall ? bytesRead : size
    yield* this.#gather(header(length))
    yield* this.#gather(small.subarray(0, bytesRead))
    this.#bytes += bytesRead
    const piece = isSmall ? small : new Uint8Array(pieceBytes)
    for (let done = bytesRead; done < length; done += bytesRead) {
      ;({ bytesRead } = await file.read(piece, 0, Math.min(piece.length, length - done), done))
      if (bytesRead === 0) throw new Error(`${this.#root}/${path} was cut while it was being read.`)
      yield* this.#gather(piece.subarray(0, bytesRead))
      this.#bytes += bytesRead
      this.#tell(path)
    }
    yield* this.#gather(new Uint8Array(paddingOf(length)))
  }

  *#gather(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    for (let rest = part; rest.length > 0; ) {
      const taken = rest.subarray(0, this.#gathered.length - this.#gatheredBytes)
      this.#gathered.set(taken, this.#gatheredBytes)
      this.#gatheredBytes += taken.length
      rest = rest.subarray(taken.length)
      if (this.#gatheredBytes < this.#gathered.length) continue
      yield this.#gathered
      this.#gathered = new Uint8Array(pieceBytes)
      this.#gatheredBytes = 0
    }
  }

  #tell(path: string): void {
    this.#options.onProgress?.({ entries: this.#entries, bytes: this.#bytes, path })
  }
}
