/** An image as `docker save` writes one, made by the test, with what the test changes about it. */
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { architectureOf } from "../../../../src/host/image/imageManifest.ts"
import { type LayerEntry, layerOf, ociTypes } from "./TestRegistry.ts"

export interface ArchiveOptions {
  readonly layers: ReadonlyArray<Buffer>
  readonly architecture?: string
  readonly config?: { readonly Env?: ReadonlyArray<string> }
  /** The entries of the archive, as the test wants them. */
  readonly entries?: (entries: ReadonlyArray<LayerEntry>) => ReadonlyArray<LayerEntry>
  /** What index.json names, given the descriptor of the image's manifest. */
  readonly manifests?: (manifest: object) => ReadonlyArray<object>
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const blobName = (digest: string): string => `blobs/${digest.replace(":", "/")}`

/** The archive, and the digest of the image's manifest. */
export const layoutArchive = ({ layers, config = {}, ...options }: ArchiveOptions) => {
  const { architecture = architectureOf(process.arch), entries = (it) => it, manifests = (it) => [it] } = options
  const blobs: Array<LayerEntry> = []
  const blob = (mediaType: string, bytes: Buffer) => {
    const digest = digestOf(bytes)
    blobs.push({ name: blobName(digest), content: bytes })
    return { mediaType, digest, size: bytes.length }
  }
  const json = (value: unknown) => Buffer.from(JSON.stringify(value))
  const manifest = {
    schemaVersion: 2,
    mediaType: ociTypes.manifest,
    config: blob(ociTypes.config, json({ os: "linux", architecture, config })),
    layers: layers.map((layer) => blob(ociTypes.gzip, gzipSync(layer, { level: 1 })))
  }
  const root = blob(ociTypes.manifest, json(manifest))
  const index = { schemaVersion: 2, mediaType: ociTypes.index, manifests: manifests(root) }
  const all = [
    { name: "blobs/", type: "5" as const },
    { name: "blobs/sha256/", type: "5" as const },
    ...blobs,
    // As Docker does: the index comes last.
    { name: "index.json", content: json(index) },
    { name: "manifest.json", content: "[]" },
    { name: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) }
  ]
  return { archive: layerOf(entries(all)), digest: root.digest }
}
