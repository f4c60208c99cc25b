/**
 * An image layout in one tar archive on this host. None of its names becomes a name on the host: a blob is a range of the archive, and counts only
 * where its bytes have its digest.
 *
 * @source OCI Image Format Specification 1.1, "Image Layout"
 */
import { createReadStream } from "node:fs"
import { Option, Schema } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { ByteSource } from "../../platform/tar/ByteSource.ts"
import { TarFault } from "../../platform/tar/TarFault.ts"
import { tarEntries } from "../../platform/tar/tarEntries.ts"
import { paddingOf } from "../../platform/tar/tarHeader.ts"
import { RuntimeRefused } from "../../runtime/Runtime.ts"
import { type ImageBlobs, MANIFEST_MAX_BYTES } from "./imageBlobs.ts"
import { isDigest } from "./imageReference.ts"
import { invalid, otherArchitecture, tooLarge, tooMany, unknownFormat } from "./imageRefusals.ts"
import { digestOf } from "./RegistryClient.ts"

const ENTRIES_MAX = 10_000

interface Range {
  readonly offset: number
  readonly size: number
}

const Index = Schema.Struct({
  manifests: Schema.Array(
    Schema.Struct({
      mediaType: Schema.optionalKey(Schema.String),
      digest: Schema.String.check(Schema.makeFilter<string>(isDigest)),
      platform: Schema.optionalKey(Schema.NullOr(Schema.Struct({ os: Schema.String, architecture: Schema.String })))
    })
  )
})
type Manifests = (typeof Index.Type)["manifests"]
const decodeIndex = Schema.decodeUnknownOption(Schema.fromJsonString(Index))

const broken = () => invalid(publicText`The archive is broken: it is no whole tar archive.`)
const absent = () => invalid(publicText`The archive is broken: it lacks a file that its index or its manifest names.`)
const several = () =>
  invalid(publicText`The archive has several images, and does not say which one is for this host. Save one image.`)
const noLayout = () =>
  new RuntimeRefused({
    code: "IMAGE_UNSUPPORTED",
    message: publicText`The archive is no OCI image layout: it has no index.json. Write one by docker save of Docker 25 or later, or by skopeo, podman or buildah as oci-archive.`
  })
const compressed = () =>
  new RuntimeRefused({
    code: "IMAGE_UNSUPPORTED",
    message: publicText`The archive is compressed. Send it as plain tar; its layers may be compressed.`
  })

const named = (name: Uint8Array): string =>
  Buffer.from(name)
    .toString("latin1")
    .replace(/^(?:\.?\/)+/, "")

const isWanted = (name: string): boolean => name === "index.json" || /^blobs\/sha256\/[0-9a-f]{64}$/.test(name)

const faultOf = (cause: unknown): unknown => {
  if (!(cause instanceof TarFault)) return cause
  return cause.reason === "compressed" ? compressed() : broken()
}

/** Where the files of a layout are. Throws a RuntimeRefused. */
const rangesIn = async (path: string, signal: AbortSignal): Promise<ReadonlyMap<string, Range>> => {
  const source = new ByteSource(createReadStream(path, { highWaterMark: 1024 ** 2, signal }))
  const ranges = new Map<string, Range>()
  let entries = 0
  const supported = (type: string, isSparse: boolean) => {
    if (isSparse || type === "S") throw unknownFormat()
  }
  try {
    for await (const { kind, name, size } of tarEntries(source, supported)) {
      entries += 1
      if (entries > ENTRIES_MAX) throw tooMany("entries", ENTRIES_MAX)
      if (kind === "file" && isWanted(named(name))) ranges.set(named(name), { offset: source.taken, size })
      if (!(await source.skip(size + paddingOf(size)))) throw broken()
    }
    return ranges
  } catch (cause) {
    throw faultOf(cause)
  } finally {
    await source.end()
  }
}

/** The one for this host, by its digest. Throws a RuntimeRefused. */
const chosen = (manifests: Manifests, architecture: string): Manifests[number] => {
  const [only, ...others] = [...new Map(manifests.map((it) => [it.digest, it])).values()]
  if (only === undefined) throw absent()
  if (others.length === 0) return only
  const told = manifests.filter(({ platform }) => platform != null)
  if (told.length === 0) throw several()
  const ours = told.find(({ platform }) => platform!.os === "linux" && platform!.architecture === architecture)
  if (ours === undefined) throw otherArchitecture()
  return ours
}

export class LayoutArchive implements ImageBlobs {
  readonly #path: string
  readonly #ranges: ReadonlyMap<string, Range>
  readonly #root: Manifests[number]

  private constructor(path: string, ranges: ReadonlyMap<string, Range>, root: Manifests[number]) {
    this.#path = path
    this.#ranges = ranges
    this.#root = root
  }

  /** Rejects with a RuntimeRefused. */
  static async open(path: string, architecture: string, signal: AbortSignal): Promise<LayoutArchive> {
    const ranges = await rangesIn(path, signal)
    const range = ranges.get("index.json")
    if (range === undefined) throw noLayout()
    const index = decodeIndex((await bytesOf(path, range)).toString("utf8"))
    if (Option.isNone(index)) throw invalid(publicText`The archive is broken: its index.json is no index of images.`)
    return new LayoutArchive(path, ranges, chosen(index.value.manifests, architecture))
  }

  /** The digest of the manifest or index that this host's image begins with. */
  get root(): string {
    return this.#root.digest
  }

  async manifest(digest: string): Promise<{ bytes: Buffer; type: string; digest: string }> {
    const bytes = await bytesOf(this.#path, this.#rangeOf(digest))
    if (digestOf(bytes) !== digest) throw invalid()
    return { bytes, type: digest === this.root ? (this.#root.mediaType ?? "") : "", digest }
  }

  async blob(digest: string): Promise<AsyncIterable<Buffer>> {
    return piecesOf(this.#path, this.#rangeOf(digest))
  }

  #rangeOf(digest: string): Range {
    const found = this.#ranges.get(`blobs/${digest.replace(":", "/")}`)
    if (found === undefined) throw absent()
    return found
  }
}

async function* piecesOf(path: string, { offset, size }: Range): AsyncGenerator<Buffer, void, undefined> {
  if (size > 0) yield* createReadStream(path, { start: offset, end: offset + size - 1 }) as AsyncIterable<Buffer>
}

const bytesOf = async (path: string, range: Range): Promise<Buffer> => {
  if (range.size > MANIFEST_MAX_BYTES) throw tooLarge(MANIFEST_MAX_BYTES)
  const pieces: Array<Buffer> = []
  for await (const piece of piecesOf(path, range)) pieces.push(piece)
  return Buffer.concat(pieces)
}
