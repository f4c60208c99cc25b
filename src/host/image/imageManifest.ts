/**
 * Manifests, indexes and configurations of images, checked and bounded.
 *
 * @source OCI Image Format Specification 1.1; Docker Image Manifest V2, Schema 2
 */
import { Option, Schema } from "effect"
import { isDigest } from "./imageReference.ts"
import { invalid, otherArchitecture, tooMany, unknownFormat } from "./imageRefusals.ts"

const INDEXES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json"
] as const
const MANIFESTS = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json"
] as const

export const manifestTypes: ReadonlyArray<string> = [...MANIFESTS, ...INDEXES]

export type Compression = "none" | "gzip" | "zstd"

const LAYERS: Readonly<Record<string, Compression>> = {
  "application/vnd.oci.image.layer.v1.tar": "none",
  "application/vnd.oci.image.layer.v1.tar+gzip": "gzip",
  "application/vnd.oci.image.layer.v1.tar+zstd": "zstd",
  "application/vnd.docker.image.rootfs.diff.tar": "none",
  "application/vnd.docker.image.rootfs.diff.tar.gzip": "gzip",
  "application/vnd.docker.image.rootfs.diff.tar.zstd": "zstd"
}

export const LAYERS_MAX = 127
const ENV_MAX = 1_000
const TEXT_MAX_CHARS = 32 * 1024
/** Of all variables together: more than a Sandbox may have, and less than a message between processes of a fleet holds. */
const ENV_MAX_CHARS = 1024 * 1024

/** Node's names of processors, as images name them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" }

export const architectureOf = (nodes: string): string => ARCHITECTURES[nodes] ?? nodes

const Digest = Schema.String.check(Schema.makeFilter<string>(isDigest))
const Size = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 50 }))
const Descriptor = Schema.Struct({ mediaType: Schema.String, digest: Digest, size: Size })
export type Descriptor = typeof Descriptor.Type

const Manifest = Schema.Struct({ config: Descriptor, layers: Schema.Array(Descriptor) })
const Index = Schema.Struct({
  manifests: Schema.Array(
    Schema.Struct({
      digest: Digest,
      platform: Schema.optionalKey(Schema.Struct({ os: Schema.String, architecture: Schema.String }))
    })
  )
})
const Configuration = Schema.Struct({
  os: Schema.String,
  architecture: Schema.String,
  config: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        Env: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
        WorkingDir: Schema.optionalKey(Schema.NullOr(Schema.String))
      })
    )
  )
})

const decodeManifest = Schema.decodeUnknownOption(Manifest)
const decodeIndex = Schema.decodeUnknownOption(Index)
const decodeConfiguration = Schema.decodeUnknownOption(Configuration)

const parsed = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"))
  } catch {
    throw invalid()
  }
}

const held = <A>(found: Option.Option<A>): A => {
  if (Option.isNone(found)) throw invalid()
  return found.value
}

export interface LayerOf {
  readonly digest: string
  readonly size: number
  readonly compression: Compression
}

export type Told =
  | { readonly is: "index"; readonly manifest: string }
  | { readonly is: "manifest"; readonly config: Descriptor; readonly layers: ReadonlyArray<LayerOf> }

/** @param type What the registry calls it, where the document does not say itself. Throws a RuntimeRefused. */
export const readManifest = (bytes: Uint8Array, type: string, architecture: string): Told => {
  const document = parsed(bytes)
  const own = (document as { readonly mediaType?: unknown } | null)?.mediaType
  const kind = typeof own === "string" ? own : type
  if ((INDEXES as ReadonlyArray<string>).includes(kind)) {
    const { manifests } = held(decodeIndex(document))
    const ours = manifests.find(({ platform }) => platform?.os === "linux" && platform.architecture === architecture)
    if (ours === undefined) throw otherArchitecture()
    return { is: "index", manifest: ours.digest }
  }
  if (!(MANIFESTS as ReadonlyArray<string>).includes(kind)) throw unknownFormat()
  const { config, layers } = held(decodeManifest(document))
  if (layers.length > LAYERS_MAX) throw tooMany("layers", LAYERS_MAX)
  return {
    is: "manifest",
    config,
    layers: layers.map(({ digest, size, mediaType }) => {
      const compression = LAYERS[mediaType]
      if (compression === undefined) throw unknownFormat()
      return { digest, size, compression }
    })
  }
}

export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>
  readonly workingDir: string | null
}

const isText = (text: string) => text.length <= TEXT_MAX_CHARS && !text.includes("\0")

/** Throws a RuntimeRefused. */
export const readConfiguration = (bytes: Uint8Array, architecture: string): ImageConfig => {
  const told = held(decodeConfiguration(parsed(bytes)))
  if (told.os !== "linux" || told.architecture !== architecture) throw otherArchitecture()
  const lines = told.config?.Env ?? []
  const length = lines.reduce((sum, line) => sum + line.length, 0)
  if (lines.length > ENV_MAX || length > ENV_MAX_CHARS || !lines.every(isText)) throw invalid()
  const env: Array<readonly [string, string]> = lines.flatMap((line) => {
    const at = line.indexOf("=")
    return at <= 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
  })
  const workingDir = told.config?.WorkingDir ?? ""
  if (!isText(workingDir)) throw invalid()
  return { env: Object.fromEntries(env), workingDir: workingDir === "" ? null : workingDir }
}
