/**
 * Empty volume images that are made ahead. To make one takes a fifth of a boot, most of it until the disk has it; to take one is a rename.
 *
 * All processes of a data folder share them. One that is there is whole and on the disk; its name says its size and the options that it was made with.
 */
import { createHash, randomUUID } from "node:crypto"
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { ensureVolumeImage } from "../linux/volumeImage.ts"

export interface BlankVolumesOptions {
  readonly folder: string
  /** The number for each size; default 8. */
  readonly max?: number
  /** The only size that is made ahead; null or absent: any. */
  readonly bytes?: number | null
  /** Extended options of mke2fs. */
  readonly extended: ReadonlyArray<string>
  /** True while Sandboxes boot: none is made then. */
  readonly isBusy: () => boolean
}

/** More new Sandboxes than these and the spares are rarely asked for at the same moment. Each takes half a megabyte of the disk, and two for a volume of 4 GiB. */
const USUAL_MAX = 8
/** So long nothing was taken before more are made. */
const REFILL_AFTER_MS = 100
/** What a killed process left unfinished, or another version made, is removed at this age. */
const LEFT_BEHIND_MS = 60_000

export class BlankVolumes {
  readonly #options: BlankVolumesOptions
  readonly #kind: string
  readonly #making = new Map<number, Promise<void>>()
  #closed = false

  constructor(options: BlankVolumesOptions) {
    this.#options = options
    this.#kind = createHash("sha256").update(options.extended.join()).digest("hex").slice(0, 8)
  }

  /** Moves an image of this size to `path`. False when there is none. */
  async take(bytes: number, path: string): Promise<boolean> {
    for (const name of await this.#names(bytes)) {
      // It fails where another boot has taken it.
      const isTaken = await rename(join(this.#options.folder, name), path).then(
        () => true,
        () => false
      )
      if (isTaken) return true
    }
    return false
  }

  /** Makes the missing ones of this size in the background, one at a time. Never rejects: without them, each boot makes its own. */
  refill(bytes: number): Promise<void> {
    if ((this.#options.bytes ?? bytes) !== bytes) return Promise.resolve()
    const making =
      this.#making.get(bytes) ??
      this.#make(bytes)
        .catch(() => {})
        .finally(() => this.#making.delete(bytes))
    if (!this.#closed) this.#making.set(bytes, making)
    return making
  }

  /** Resolves when none is being made any more. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#making.values())
  }

  async #make(bytes: number): Promise<void> {
    const { folder, max = USUAL_MAX, extended, isBusy } = this.#options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await this.#removeLeftBehind()
    const isRoom = async () => !this.#closed && (await this.#names(bytes)).length < max
    while (await isRoom()) {
      await sleep(REFILL_AFTER_MS)
      if (isBusy() || !(await isRoom())) continue
      const path = join(folder, `${this.#prefix(bytes)}${randomUUID()}`)
      const image = { path, bytes, owner: null, extended, isEmpty: false }
      await ensureVolumeImage(image).catch(async (cause: unknown) => {
        await rm(`${path}.partial`, { force: true })
        throw cause
      })
    }
  }

  async #removeLeftBehind(): Promise<void> {
    const { folder } = this.#options
    for (const name of await readdir(folder)) {
      if (name.startsWith(`${this.#kind}-`) && !name.endsWith(".partial")) continue
      const path = join(folder, name)
      const found = await stat(path).catch(() => null)
      if (found !== null && Date.now() - found.mtimeMs > LEFT_BEHIND_MS) await rm(path, { force: true })
    }
  }

  #prefix(bytes: number): string {
    return `${this.#kind}-${bytes}-`
  }

  async #names(bytes: number): Promise<ReadonlyArray<string>> {
    const names = await readdir(this.#options.folder).catch(() => [])
    return names.filter((name) => name.startsWith(this.#prefix(bytes)) && !name.endsWith(".partial"))
  }
}
