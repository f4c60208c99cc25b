/** A registry on this machine with images that the test makes, and with every fault that it asks for. */
import { createHash } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync, zstdCompressSync } from "node:zlib"
import { architectureOf } from "../../../../src/host/image/imageManifest.ts"
import { writeHeader } from "../../../../src/platform/tar/tarHeader.ts"

export interface LayerEntry {
  readonly name: string
  readonly type?: "0" | "1" | "2" | "3" | "5" | "6" | "S"
  readonly mode?: number
  readonly content?: string | Buffer
  readonly target?: string
}

/** One layer as tar. */
export const layerOf = (entries: ReadonlyArray<LayerEntry>): Buffer => {
  const parts: Array<Uint8Array> = []
  for (const { name, type = "0", mode = type === "5" ? 0o755 : 0o644, content = "", target = "" } of entries) {
    const bytes = Buffer.from(content)
    parts.push(
      writeHeader({ name: Buffer.from(name), target: Buffer.from(target), mode, size: bytes.length, mtime: 1e9, type }),
      bytes,
      new Uint8Array((512 - (bytes.length % 512)) % 512)
    )
  }
  return Buffer.concat([...parts, new Uint8Array(1024)])
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

export const ociTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  none: "application/vnd.oci.image.layer.v1.tar",
  gzip: "application/vnd.oci.image.layer.v1.tar+gzip",
  zstd: "application/vnd.oci.image.layer.v1.tar+zstd"
} as const

export interface ImageOptions {
  readonly layers: ReadonlyArray<Buffer>
  readonly compression?: "none" | "gzip" | "zstd"
  readonly architecture?: string
  readonly config?: { readonly Env?: ReadonlyArray<string>; readonly WorkingDir?: string }
  /** Behind an index that has another architecture first. */
  readonly indexed?: boolean
  readonly layerType?: string
}

const compressed = {
  none: (it: Buffer) => it,
  gzip: (it: Buffer) => gzipSync(it, { level: 1 }),
  zstd: zstdCompressSync
}

export type Fault = (request: IncomingMessage, response: ServerResponse) => boolean

export class TestRegistry {
  readonly blobs = new Map<string, Buffer>()
  readonly #manifests = new Map<string, { readonly type: string; readonly bytes: Buffer }>()
  readonly #server: Server
  /** The requests so far, with their Authorization. */
  readonly seen: Array<{ readonly path: string; readonly authorization: string | undefined }> = []
  /** Answers a request in the registry's place, if it returns true. */
  fault: Fault = () => false

  private constructor(server: Server) {
    this.#server = server
  }

  /** @param address Where it listens; all: also at addresses that this machine does not have yet. */
  static async start(address: "127.0.0.1" | "0.0.0.0" = "127.0.0.1"): Promise<TestRegistry> {
    const server = createServer()
    const registry = new TestRegistry(server)
    server.on("request", (request, response) => registry.#answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, address, resolve))
    return registry
  }

  get host(): string {
    return `127.0.0.1:${this.port}`
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #blob(bytes: Buffer): { readonly digest: string; readonly size: number } {
    const digest = digestOf(bytes)
    this.blobs.set(digest, bytes)
    return { digest, size: bytes.length }
  }

  /** Puts a document under a tag and its digest, which it returns. */
  manifest(tag: string, type: string, document: unknown): string {
    const bytes = Buffer.from(JSON.stringify(document))
    const digest = digestOf(bytes)
    for (const name of [tag, digest]) this.#manifests.set(name, { type, bytes })
    return digest
  }

  /** Returns the digest of the image's manifest. */
  image(tag: string, { layers, compression = "gzip", config = {}, ...options }: ImageOptions): string {
    const { architecture = architectureOf(process.arch), indexed = false, layerType = ociTypes[compression] } = options
    const configuration = Buffer.from(JSON.stringify({ os: "linux", architecture, config }))
    const document = {
      schemaVersion: 2,
      mediaType: ociTypes.manifest,
      config: { mediaType: ociTypes.config, ...this.#blob(configuration) },
      layers: layers.map((layer) => ({ mediaType: layerType, ...this.#blob(compressed[compression](layer)) }))
    }
    const digest = this.manifest(tag, ociTypes.manifest, document)
    if (indexed) {
      const size = 1
      this.manifest(tag, ociTypes.index, {
        schemaVersion: 2,
        mediaType: ociTypes.index,
        manifests: [
          {
            mediaType: ociTypes.manifest,
            digest: digestOf(Buffer.from("other")),
            size,
            platform: { os: "linux", architecture: "s390x" }
          },
          { mediaType: ociTypes.manifest, digest, size, platform: { os: "linux", architecture } }
        ]
      })
    }
    return digest
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? ""
    this.seen.push({ path, authorization: request.headers.authorization })
    if (this.fault(request, response)) return
    const [, kind, name = ""] = /\/(manifests|blobs)\/([^/?]+)$/.exec(path) ?? []
    const manifest = kind === "manifests" ? this.#manifests.get(name) : undefined
    const bytes = manifest?.bytes ?? (kind === "blobs" ? this.blobs.get(name) : undefined)
    if (bytes === undefined) {
      response.writeHead(path === "/v2/" ? 200 : 404).end()
      return
    }
    response.writeHead(200, {
      "content-type": manifest?.type ?? "application/octet-stream",
      "content-length": bytes.length
    })
    response.end(bytes)
  }
}
