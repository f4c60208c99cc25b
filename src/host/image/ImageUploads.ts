/**
 * Archives of images that the service received, in the folder of the host's images:
 *
 *     <imageId>.receiving   one that is still arriving, or that a killed process left
 *     <imageId>.upload      a whole one, until its image is made
 *     <imageId>.taken       the digest of the image that was made of it: the service may ask again, after a crash
 */
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { flushed } from "../linux/imageCopy.ts"
import { isSandboxId, readRecord, writeRecord } from "../linux/SandboxRecords.ts"
import { isDigest } from "./imageReference.ts"
import { tooLarge } from "./imageRefusals.ts"

/** The service inserts the image soon after its archive is whole. */
const RECENT_MS = 600_000
/** Room is taken in steps. */
const ROOM_STEP_BYTES = 64 * 1024 ** 2

export interface ReceiveOptions {
  readonly maxBytes: number
  /** Takes room on the disk for a file that grows to so many bytes. Rejects where there is none. */
  readonly room: (path: string, bytes: number) => Promise<void>
  readonly giveBack: (path: string) => void
}

export class ImageUploads {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  path(imageId: string): string {
    return this.#path(imageId, "upload")
  }

  /** Where `pieces` throws, it leaves nothing. Rejects with a RuntimeRefused for more than `maxBytes`. */
  async receive(imageId: string, pieces: AsyncIterable<Uint8Array>, options: ReceiveOptions): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const path = this.#path(imageId, "receiving")
    try {
      await write(path, pieces, options)
      await rename(path, this.path(imageId))
      await flushed(this.folder)
    } catch (cause) {
      await rm(path, { force: true })
      throw cause
    } finally {
      options.giveBack(path)
    }
  }

  /** The image that was made of it; null: none was. */
  digest(imageId: string): string | null {
    const record = readRecord(this.#path(imageId, "taken")) as { readonly digest?: unknown } | null
    return isDigest(record?.digest) ? record.digest : null
  }

  /** The archive is needed no more. */
  async taken(imageId: string, digest: string): Promise<void> {
    await writeRecord(this.#path(imageId, "taken"), { digest }, { durable: true })
    await rm(this.path(imageId), { force: true })
  }

  async remove(imageId: string): Promise<void> {
    for (const kind of ["upload", "receiving", "taken"]) await rm(this.#path(imageId, kind), { force: true })
  }

  /** The images of which an archive, or a record of one, is here; without those that have changed a short time ago. */
  async ids(): Promise<ReadonlyArray<string>> {
    const names = await readdir(this.folder).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return []
      throw cause
    })
    const old = new Set<string>()
    for (const name of names) {
      const [, imageId] = /^([^.]+)\.(?:upload|receiving|taken)$/.exec(name) ?? []
      if (imageId !== undefined && (await this.#isOld(name))) old.add(imageId)
    }
    return [...old]
  }

  async #isOld(name: string): Promise<boolean> {
    const found = await stat(join(this.folder, name)).catch(() => null)
    return found !== null && Date.now() - found.mtimeMs > RECENT_MS
  }

  #path(imageId: string, kind: string): string {
    if (!isSandboxId(imageId)) throw new Error("an imageId is 1 to 64 letters, digits, - or _")
    return join(this.folder, `${imageId}.${kind}`)
  }
}

const write = async (
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { maxBytes, room }: ReceiveOptions
): Promise<void> => {
  const file = await open(path, "w", 0o600)
  let bytes = 0
  let taken = 0
  try {
    for await (const piece of pieces) {
      bytes += piece.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      if (bytes > taken) {
        taken = bytes + ROOM_STEP_BYTES
        await room(path, taken)
      }
      for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten
    }
    await file.sync()
  } finally {
    await file.close()
  }
}
