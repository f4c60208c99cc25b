/** Reads one layer as it arrives: verifies it, unpacks it, and puts its entries into the tree. */
import { createHash } from "node:crypto"
import { PassThrough, type Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { setImmediate as turn } from "node:timers/promises"
import { createGunzip, createZstdDecompress } from "node:zlib"
import { ByteSource } from "../../platform/tar/ByteSource.ts"
import { TarFault } from "../../platform/tar/TarFault.ts"
import { type TarEntry, tarEntries } from "../../platform/tar/tarEntries.ts"
import { paddingOf } from "../../platform/tar/tarHeader.ts"
import { folder, type ImageTree } from "./ImageTree.ts"
import type { Compression, LayerOf } from "./imageManifest.ts"
import { invalid, tooLarge, unknownFormat } from "./imageRefusals.ts"
import type { Spool } from "./Spool.ts"

export interface Unpacking {
  readonly tree: ImageTree
  readonly spool: Spool
  readonly maxBytes: number
  /** Called before the spool grows to this length. Rejects where the host has no room. */
  readonly room: (bytes: number) => Promise<void>
  /** Resolves when no other pull has as many entries: they take some hundred megabytes of memory. Called once. */
  readonly large: () => Promise<void>
  isLarge: boolean
  /** Entries that no Sandbox gets: devices, pipes and the like. */
  dropped: number
  /** Unpacked bytes of all layers so far, headers included. */
  unpacked: number
}

const SLICE_ENTRIES = 256
const LARGE_ENTRIES = 200_000
const CHUNK_BYTES = 256 * 1024

const decompressors: Readonly<Record<Compression, () => Transform>> = {
  none: () => new PassThrough(),
  gzip: () => createGunzip({ chunkSize: CHUNK_BYTES }),
  zstd: () => createZstdDecompress({ chunkSize: CHUNK_BYTES })
}

/** Passes bytes on; at their end they were exactly this blob's, or it throws. */
export async function* verified(
  bytes: AsyncIterable<Buffer>,
  { digest, size }: { readonly digest: string; readonly size: number },
  done: () => void = () => {}
): AsyncGenerator<Buffer, void, undefined> {
  const hash = createHash("sha256")
  let seen = 0
  for await (const piece of bytes) {
    seen += piece.length
    if (seen > size) throw invalid()
    hash.update(piece)
    yield piece
  }
  if (seen !== size || `sha256:${hash.digest("hex")}` !== digest) throw invalid()
  done()
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1")

const supported = (type: string, isSparse: boolean): void => {
  // Sparse files of GNU tar.
  if (isSparse || type === "S") throw unknownFormat()
}

export const readLayer = async (layer: LayerOf, bytes: AsyncIterable<Buffer>, unpacking: Unpacking): Promise<void> => {
  const plain = decompressors[layer.compression]()
  let isWhole = false
  const piped = pipeline(
    verified(bytes, layer, () => {
      isWhole = true
    }),
    plain
  )
  piped.catch(() => {})
  const source = new ByteSource(plain as AsyncIterable<Uint8Array>)
  try {
    unpacking.tree.nextLayer()
    await readEntries(source, unpacking)
    // Zeros, as far as tar writes them.
    for (let rest = await source.some(CHUNK_BYTES); rest !== null; rest = await source.some(CHUNK_BYTES)) {
      grow(unpacking, rest.length)
    }
    await piped
  } catch (cause) {
    throw faultOf(cause)
  } finally {
    await source.end()
  }
  if (!isWhole) throw invalid()
}

const readEntries = async (source: ByteSource, unpacking: Unpacking): Promise<void> => {
  let entries = 0
  let before = source.taken
  const { tree } = unpacking
  for await (const entry of tarEntries(source, supported)) {
    grow(unpacking, source.taken - before)
    await take(entry, source, unpacking)
    before = source.taken
    entries += 1
    if (!unpacking.isLarge && tree.entries > LARGE_ENTRIES) {
      unpacking.isLarge = true
      await unpacking.large()
    }
    // Small entries are all in memory: other work has its turn.
    if (entries % SLICE_ENTRIES === 0) await turn()
  }
}

const grow = (unpacking: Unpacking, bytes: number): void => {
  unpacking.unpacked += bytes
  if (unpacking.unpacked > unpacking.maxBytes) throw tooLarge(unpacking.maxBytes)
}

const take = async (entry: TarEntry, source: ByteSource, unpacking: Unpacking): Promise<void> => {
  const { tree } = unpacking
  const [name, target] = [text(entry.name), text(entry.target)]
  const { mode } = entry
  const mtime = Math.max(0, Math.floor(entry.mtime))
  tree.count(name, target)
  // Before its content is read.
  grow(unpacking, entry.size + paddingOf(entry.size))
  if (tree.removes(name)) return await skip(source, entry.size)
  switch (entry.kind) {
    case "file": {
      const { offset } = await keep(entry.size, source, unpacking)
      return tree.put(name, { is: "file", mode, mtime, offset, size: entry.size })
    }
    case "hardLink":
      return tree.put(name, tree.linked(target))
    case "symlink":
      if (target === "" || target.includes("\0")) throw invalid()
      return tree.put(name, { is: "symlink", mode, mtime, target })
    case "directory":
      tree.put(name, folder(mode, mtime))
      return await skip(source, entry.size)
    case "other":
      unpacking.dropped += 1
      return await skip(source, entry.size)
  }
}

const skip = async (source: ByteSource, size: number): Promise<void> => {
  if (!(await source.skip(size + paddingOf(size)))) throw invalid()
}

const keep = async (size: number, source: ByteSource, { spool, room }: Unpacking): Promise<{ offset: number }> => {
  const offset = spool.length
  await room(offset + size)
  for (let left = size; left > 0; ) {
    const part = await source.some(left)
    if (part === null) throw invalid()
    await spool.append(part)
    left -= part.length
  }
  if (!(await source.skip(paddingOf(size)))) throw invalid()
  return { offset }
}

/** What the bytes of the layer are to blame for. */
const faultOf = (cause: unknown): unknown => {
  const code = (cause as NodeJS.ErrnoException | null)?.code
  const isBroken = cause instanceof TarFault || (typeof code === "string" && /^(Z_|ZSTD_|ERR_ZSTD)/.test(code))
  return isBroken ? invalid() : cause
}
