/** Reads an image from its registry, or from an archive, and makes it one read-only file system of this host. */
import { rm } from "node:fs/promises"
import type { ImageSource, PulledImage } from "../../runtime/Runtime.ts"
import { ImageStore } from "./ImageStore.ts"
import { ImageTree } from "./ImageTree.ts"
import { type ImageBlobs, MANIFEST_MAX_BYTES } from "./imageBlobs.ts"
import { architectureOf, type LayerOf, readConfiguration, readManifest } from "./imageManifest.ts"
import { imageReference } from "./imageReference.ts"
import { invalid, tooLarge } from "./imageRefusals.ts"
import { LayoutArchive } from "./LayoutArchive.ts"
import { RegistryClient } from "./RegistryClient.ts"
import { readLayer, type Unpacking, verified } from "./readLayer.ts"
import type { RequestOptions } from "./registryRequest.ts"
import { Spool } from "./Spool.ts"
import { placeForSandbox, type SandboxUser } from "./sandboxPlaces.ts"
import { sizeOf } from "./treeEntries.ts"
import { writeSquashfs } from "./writeSquashfs.ts"

export interface MakeOptions {
  readonly signal: AbortSignal
  readonly store: ImageStore
  readonly user: SandboxUser
  /** Of an image, compressed and unpacked. */
  readonly maxBytes: number
  /** Runs `act` while no other process makes or removes this image. */
  readonly inTurn: <A>(key: string, act: () => Promise<A>) => Promise<A>
  /** Takes room on the disk for a file that grows to so many bytes. Rejects where there is none. */
  readonly room: (path: string, bytes: number) => Promise<void>
  readonly giveBack: (path: string) => void
  /** A permit for one image of many entries at a time. */
  readonly large: () => Promise<Disposable>
}

export type PullOptions = MakeOptions & RequestOptions

export interface Pulled {
  readonly image: PulledImage
  /** Entries that no Sandbox gets. */
  readonly dropped: number
}

const BOUNDS = { entries: 1_000_000, nameBytes: 128 * 1024 ** 2 }
/** Room is taken in steps. */
const ROOM_STEP_BYTES = 64 * 1024 ** 2

interface Resolved {
  readonly digest: string
  readonly config: { readonly digest: string; readonly size: number }
  readonly layers: ReadonlyArray<LayerOf>
}

/** The manifest for this host, behind at most one index. */
const resolved = async (blobs: ImageBlobs, tagOrDigest: string, architecture: string): Promise<Resolved> => {
  const first = await blobs.manifest(tagOrDigest)
  const told = readManifest(first.bytes, first.type, architecture)
  if (told.is === "manifest") return { ...told, digest: first.digest }
  const second = await blobs.manifest(told.manifest)
  const chosen = readManifest(second.bytes, second.type, architecture)
  if (chosen.is === "index") throw invalid()
  return { ...chosen, digest: second.digest }
}

/** Rejects with a RuntimeRefused or RuntimeUnavailable, with the reason of its signal, or with a fault of this host. */
export const pullImage = async (source: ImageSource, options: PullOptions): Promise<Pulled> => {
  const reference = imageReference(source.reference)
  const client = new RegistryClient(reference, source.credentials, options)
  return await imageOf(client, source.digest ?? reference.digest ?? reference.tag, options)
}

/** Makes the image of an archive at `path`. Rejects as `pullImage` does. */
export const takeArchive = async (path: string, options: MakeOptions): Promise<Pulled> => {
  const archive = await LayoutArchive.open(path, architectureOf(process.arch), options.signal)
  return await imageOf(archive, archive.root, options)
}

const imageOf = async (blobs: ImageBlobs, tagOrDigest: string, options: MakeOptions): Promise<Pulled> => {
  const { store, inTurn } = options
  const architecture = architectureOf(process.arch)
  const image = await resolved(blobs, tagOrDigest, architecture)
  return await inTurn(ImageStore.keyOf(image.digest), async () => {
    const present = await store.find(image.digest)
    if (present !== null) return { image: present, dropped: 0 }
    return await made(blobs, image, architecture, options)
  })
}

const made = async (
  blobs: ImageBlobs,
  { digest, config, layers }: Resolved,
  architecture: string,
  options: MakeOptions
): Promise<Pulled> => {
  const { store, maxBytes, user, signal } = options
  if (layers.reduce((sum, { size }) => sum + size, 0) > maxBytes) throw tooLarge(maxBytes)
  const configuration = readConfiguration(await configOf(blobs, config), architecture)
  const { spool: path, partial } = await store.begin(digest)
  const spool = await Spool.open(path)
  using permits = new DisposableStack()
  try {
    const unpacking = unpackingOf(spool, options, permits)
    for (const layer of layers) await readLayer(layer, await blobs.blob(layer.digest), unpacking)
    const { tree, dropped } = unpacking
    await placeForSandbox(tree, spool, user)
    const sizeBytes = sizeOf(tree.root)
    await options.room(partial, sizeBytes)
    await writeSquashfs(tree.root, spool, partial, signal)
    await store.complete(digest, partial, sizeBytes, configuration)
    const image = await store.find(digest)
    if (image === null) throw new Error(`image ${digest} was removed while it was made`)
    return { image, dropped }
  } finally {
    await spool.remove()
    await rm(partial, { force: true })
    for (const it of [path, partial]) options.giveBack(it)
  }
}

const unpackingOf = (spool: Spool, { maxBytes, room, large }: MakeOptions, permits: DisposableStack): Unpacking => {
  let taken = 0
  return {
    tree: new ImageTree(BOUNDS),
    spool,
    maxBytes,
    room: async (bytes) => {
      if (bytes <= taken) return
      taken = bytes + ROOM_STEP_BYTES
      await room(spool.path, taken)
    },
    large: async () => {
      permits.use(await large())
    },
    isLarge: false,
    dropped: 0,
    unpacked: 0
  }
}

const configOf = async (blobs: ImageBlobs, config: Resolved["config"]): Promise<Buffer> => {
  if (config.size > MANIFEST_MAX_BYTES) throw tooLarge(MANIFEST_MAX_BYTES)
  const pieces: Array<Buffer> = []
  for await (const piece of verified(await blobs.blob(config.digest), config)) pieces.push(piece)
  return Buffer.concat(pieces)
}
