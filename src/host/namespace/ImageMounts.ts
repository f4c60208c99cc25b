/** The mounts of this host's images: once for each image, shared by its Sandboxes. */
import { existsSync, readdirSync } from "node:fs"
import { chmod, mkdir, rmdir } from "node:fs/promises"
import { join } from "node:path"
import type { HostImages } from "../image/HostImages.ts"
import { ImageStore } from "../image/ImageStore.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { isMounted } from "../linux/mountTable.ts"
import type { HostLayout } from "./HostLayout.ts"
import { LoopDevicesExhausted } from "./volume.ts"

const mountName = (digest: string): string => digest.slice("sha256:".length)

export class ImageMounts {
  readonly #layout: HostLayout
  readonly #turns: HostMutex

  constructor(layout: HostLayout, turns: HostMutex) {
    this.#layout = layout
    this.#turns = turns
  }

  /** The folder where the image is mounted. The caller holds the key of a Sandbox that is recorded to have it. */
  root(images: HostImages, digest: string): Promise<string> {
    return images.whilePresent(digest, async (path) => {
      const folder = join(this.#mounts, mountName(digest))
      if (isMounted(folder)) return folder
      await mkdir(folder, { recursive: true, mode: 0o700 })
      // Users of Sandboxes may only pass through. By chmod, because the umask reduces the mode of mkdir.
      await chmod(this.#mounts, 0o711)
      const mount = ["mount", "-t", "squashfs", "-o", "loop,ro,nosuid,nodev", path, folder] as const
      const { code, stderr } = await hostCommand([...mount])
      if (code === 0) return folder
      if (/loop device|could not find any free|failed to setup/i.test(stderr))
        throw new LoopDevicesExhausted(stderr.trim())
      throw new Error(`mount ended with ${code}: ${stderr.trim()}`)
    })
  }

  /** Unmounts images of which no Sandbox runs or boots. */
  async unmountUnused(): Promise<void> {
    for (const name of existsSync(this.#mounts) ? readdirSync(this.#mounts) : []) {
      const digest = `sha256:${name}`
      const release = await this.#turns.holdIfFree(ImageStore.keyOf(digest))
      if (release === null) continue
      try {
        if (!(await this.#isUsed(digest))) await this.unmount(digest)
      } finally {
        release()
      }
    }
    await rmdir(this.#mounts).catch(() => {})
  }

  get #mounts(): string {
    return join(this.#layout.runFolder, "images")
  }

  async #isUsed(digest: string): Promise<boolean> {
    for (const sandboxId of this.#layout.sandboxIds()) {
      const state = this.#layout.state(sandboxId)
      if (state.spec()?.image !== digest) continue
      if (state.runtime() !== null) return true
      // It may be about to boot.
      const release = await this.#turns.holdIfFree(sandboxId)
      if (release === null) return true
      release()
    }
    return false
  }

  /** Lazy: a launch that has just ended may still hold it. The caller holds the image's key. */
  async unmount(digest: string): Promise<void> {
    const folder = join(this.#mounts, mountName(digest))
    if (!existsSync(folder)) return
    if (isMounted(folder)) await hostCommand(["umount", "-l", folder])
    await rmdir(folder)
  }
}
