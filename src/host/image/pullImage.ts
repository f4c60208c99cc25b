/** Reads an image from its registry and makes it one read-only file system of this host. */
import { rm } from "node:fs/promises"
import type { ImageSource, PulledImage } from "../../runtime/Runtime.ts"
import { ImageStore } from "./ImageStore.ts"
import { ImageTree } from "./ImageTree.ts"
import { architectureOf, type LayerOf, readConfiguration, readManifest } from "./imageManifest.ts"
import { imageReference } from "./imageReference.ts"
import { invalid, tooLarge } from "./imageRefusals.ts"
import { MANIFEST_MAX_BYTES, RegistryClient } from "./RegistryClient.ts"
import { readLayer, type Unpacking, verified } from "./readLayer.ts"
import type { RequestOptions } from "./registryRequest.ts"
import { Spool } from "./Spool.ts"
import { placeForSandbox, type SandboxUser } from "./sandboxPlaces.ts"
import { sizeOf } from "./treeEntries.ts"
import { writeSquashfs } from "./writeSquashfs.ts"

export interface PullOptions extends RequestOptions {
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
const resolved = async (client: RegistryClient, tagOrDigest: string, architecture: string): Promise<Resolved> => {
  const first = await client.manifest(tagOrDigest)
  const told = readManifest(first.bytes, first.type, architecture)
  if (told.is === "manifest") return { ...told, digest: first.digest }
  const second = await client.manifest(told.manifest)
  const chosen = readManifest(second.bytes, second.type, architecture)
  if (chosen.is === "index") throw invalid()
  return { ...chosen, digest: second.digest }
}

/** Rejects with a RuntimeRefused or RuntimeUnavailable, with the reason of its signal, or with a fault of this host. */
export const pullImage = async (source: ImageSource, options: PullOptions): Promise<Pulled> => {
  const { store, inTurn } = options
  const reference = imageReference(source.reference)
  const client = new RegistryClient(reference, source.credentials, options)
  const architecture = architectureOf(process.arch)
  const image = await resolved(client, source.digest ?? reference.digest ?? reference.tag, architecture)
  return await inTurn(ImageStore.keyOf(image.digest), async () => {
    const present = await store.find(image.digest)
    if (present !== null) return { image: present, dropped: 0 }
    return await made(client, image, architecture, options)
  })
}

const made = async (
  client: RegistryClient,
  { digest, config, layers }: Resolved,
  architecture: string,
  options: PullOptions
): Promise<Pulled> => {
  const { store, maxBytes, user, signal } = options
  if (layers.reduce((sum, { size }) => sum + size, 0) > maxBytes) throw tooLarge(maxBytes)
  const configuration = readConfiguration(await configOf(client, config), architecture)
  const { spool: path, partial } = await store.begin(digest)
  const spool = await Spool.open(path)
  using permits = new DisposableStack()
  try {
    const unpacking = unpackingOf(spool, options, permits)
    for (const layer of layers) await readLayer(layer, await client.blob(layer.digest), unpacking)
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

const unpackingOf = (spool: Spool, { maxBytes, room, large }: PullOptions, permits: DisposableStack): Unpacking => {
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

const configOf = async (client: RegistryClient, config: Resolved["config"]): Promise<Buffer> => {
  if (config.size > MANIFEST_MAX_BYTES) throw tooLarge(MANIFEST_MAX_BYTES)
  const pieces: Array<Buffer> = []
  for await (const piece of verified(await client.blob(config.digest), config)) pieces.push(piece)
  return Buffer.concat(pieces)
}
