/**
 * The images of one host, in `<root>/.images/`, named by the digest of their manifest:
 *
 *     <hex>.sqfs           the merged files; it is there only when it is complete
 *     <hex>.json           see `ImageRecord`; written before the image has its name
 *     <hex>.<uuid>.spool   contents that are being unpacked
 *     <hex>.<uuid>.partial an image that is being made, or that a killed process left
 *
 * What a killed process left is removed at the next start (`tidy`), and not by the next pull: another process may be at it, for longer than one waits for it.
 * Nothing changes an image once it has its name. Callers hold the image's key in the driver's host mutex (`keyOf`) while they make or remove one.
 */
import { randomUUID } from "node:crypto"
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Option, Schema } from "effect"
import type { PulledImage } from "../../runtime/Runtime.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { flushed } from "../linux/imageCopy.ts"
import { readRecord, writeRecord } from "../linux/SandboxRecords.ts"
import type { ImageConfig } from "./imageManifest.ts"
import { isDigest } from "./imageReference.ts"

/** Of the root that is made of an image: one of another version is made again. */
const FORMAT = 1

const ImageRecord = Schema.Struct({
  format: Schema.Literal(FORMAT),
  sizeBytes: Schema.Int,
  env: Schema.Record(Schema.String, Schema.String),
  workingDir: Schema.NullOr(Schema.String)
})

const decode = Schema.decodeUnknownOption(ImageRecord)

const hexOf = (digest: string): string => {
  if (!isDigest(digest)) throw new Error("an image is named by sha256: and 64 hexadecimal digits")
  return digest.slice("sha256:".length)
}

export class ImageStore {
  readonly folder: string

  /** @param root The driver's folder of Sandboxes. */
  constructor(root: string) {
    this.folder = join(root, ".images")
  }

  /** The image's key in the host mutex. */
  static keyOf(digest: string): string {
    return `image.${hexOf(digest)}`
  }

  path(digest: string): string {
    return join(this.folder, `${hexOf(digest)}.sqfs`)
  }

  /** Null when it is not here, or unfinished. */
  async find(digest: string): Promise<PulledImage | null> {
    const found = await stat(this.path(digest)).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return null
      throw cause
    })
    const record = Option.getOrNull(decode(readRecord(this.#record(digest))))
    if (found === null || record === null) return null
    const { sizeBytes, env, workingDir } = record
    return { digest, sizeBytes, storedBytes: found.blocks * 512, config: { env, workingDir } }
  }

  /** Paths for an image that is to be made. */
  async begin(digest: string): Promise<{ readonly spool: string; readonly partial: string }> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const unfinished = join(this.folder, `${hexOf(digest)}.${randomUUID()}`)
    return { spool: `${unfinished}.spool`, partial: `${unfinished}.partial` }
  }

  async complete(digest: string, partial: string, sizeBytes: number, { env, workingDir }: ImageConfig): Promise<void> {
    await flushed(partial)
    await writeRecord(this.#record(digest), { format: FORMAT, sizeBytes, env, workingDir }, { durable: true })
    await rename(partial, this.path(digest))
    await flushed(this.folder)
  }

  /** Removes it, and what is unfinished of it. */
  async remove(digest: string): Promise<void> {
    // First the image: without it there is none.
    await rm(this.path(digest), { force: true })
    await this.removeUnfinished(digest)
    await rm(this.#record(digest), { force: true })
  }

  /** Removes what a killed process was making. */
  async removeUnfinished(digest: string): Promise<void> {
    const own = `${hexOf(digest)}.`
    for (const name of await this.#names()) {
      if (name.startsWith(own) && name !== `${own}sqfs` && name !== `${own}json`)
        await rm(join(this.folder, name), { force: true })
    }
  }

  /** The digests of all that is here, whole or unfinished. */
  async digests(): Promise<ReadonlyArray<string>> {
    const digests = (await this.#names()).map((name) => `sha256:${name.slice(0, name.indexOf("."))}`)
    return [...new Set(digests.filter(isDigest))]
  }

  /** Removes what killed processes left unfinished, where `turns` says that no process is at it. */
  async tidy(turns: HostMutex): Promise<void> {
    for (const digest of await this.digests()) {
      const release = await turns.holdIfFree(ImageStore.keyOf(digest))
      if (release === null) continue
      try {
        if ((await this.find(digest)) === null) await this.remove(digest)
        else await this.removeUnfinished(digest)
      } finally {
        release()
      }
    }
  }

  #record(digest: string): string {
    return join(this.folder, `${hexOf(digest)}.json`)
  }

  async #names(): Promise<ReadonlyArray<string>> {
    return await readdir(this.folder).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return []
      throw cause
    })
  }
}
