/** The images of this host, and their mounts: once for each image, shared by its Sandboxes. */
import { existsSync, readdirSync } from "node:fs"
import { chmod, mkdir, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import { type ImageSource, type PulledImage, RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { ImageStore } from "../image/ImageStore.ts"
import { noRoom } from "../image/imageRefusals.ts"
import { pullImage } from "../image/pullImage.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { isMounted } from "../linux/mountTable.ts"
import type { HostLayout } from "./HostLayout.ts"
import { type ImageObstacle, imageObstacle } from "./imageObstacle.ts"
import { isShortage } from "./isShortage.ts"
import { SANDBOX_UID, SANDBOX_USER } from "./systemFiles.ts"
import { LoopDevicesExhausted } from "./volume.ts"
import type { VolumeAdmission } from "./volumeAdmission.ts"

export interface ImageLimits {
  readonly maxBytes: number
  /** `host[:port]` of registries that may have private addresses, or no TLS. */
  readonly registries: ReadonlyArray<string>
}

/** Each unpacks and compresses. */
const PULLS_MAX = 4
const STALL_MS = 60_000
const PULL_MAX_MS = 3_600_000

const unsupported = (
  message = publicText`This host runs no images: they need the service as root, loop devices, squashfs in the kernel, and squashfs-tools.`
) => new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message })

const mountName = (digest: string): string => digest.slice("sha256:".length)

export class HostImages {
  readonly #layout: HostLayout
  readonly #turns: HostMutex
  readonly #admission: VolumeAdmission
  readonly #limits: ImageLimits
  readonly #run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly #store: ImageStore
  readonly #pulls = new Semaphore(PULLS_MAX)
  readonly #large = new Semaphore(1)
  #obstacle: Promise<ImageObstacle | null> | null = null

  constructor(
    layout: HostLayout,
    turns: HostMutex,
    admission: VolumeAdmission,
    limits: ImageLimits,
    run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  ) {
    this.#layout = layout
    this.#turns = turns
    this.#admission = admission
    this.#limits = limits
    this.#run = run
    this.#store = new ImageStore(layout.stateFolder)
  }

  /** Rejects with RuntimeRefused or RuntimeUnavailable. */
  async pull(source: ImageSource, signal: AbortSignal): Promise<PulledImage> {
    if (!(await this.#isAble())) throw unsupported()
    try {
      return await this.#pulls.run(() => this.#pull(source, signal), signal)
    } catch (cause) {
      if (cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable) throw cause
      const message = cause instanceof Error ? cause.message : String(cause)
      if (!isShortage(cause)) throw new RuntimeUnavailable({ message })
      await this.#run(Effect.logWarning(`An image was refused: ${message}`))
      throw noRoom()
    }
  }

  async #pull(source: ImageSource, signal: AbortSignal): Promise<PulledImage> {
    const { image, dropped } = await pullImage(source, {
      store: this.#store,
      user: { name: SANDBOX_USER, uid: SANDBOX_UID },
      maxBytes: this.#limits.maxBytes,
      allowed: new Set(this.#limits.registries),
      stallMs: STALL_MS,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PULL_MAX_MS)]),
      inTurn: (key, act) => this.#turns.pass(key, act),
      room: (path, bytes) => this.#admission.take(path, bytes),
      large: () => this.#large.acquire(signal),
      giveBack: (path) => this.#admission.giveBack(path)
    })
    if (dropped > 0) {
      await this.#run(Effect.logInfo(`Image ${image.digest}: ${dropped} devices and pipes of it are left out.`))
    }
    return image
  }

  /** Running Sandboxes keep their root. */
  remove(digest: string): Promise<void> {
    return this.#turns.pass(ImageStore.keyOf(digest), async () => {
      await this.#unmount(digest)
      await this.#store.remove(digest)
    })
  }

  inventory(): Promise<ReadonlyArray<string>> {
    return this.#store.digests()
  }

  tidy(): Promise<void> {
    return this.#store.tidy(this.#turns)
  }

  /** The digest of the image that this Sandbox starts from; it is pulled if it is not here. */
  async present(source: ImageSource & { readonly digest: string }, signal?: AbortSignal): Promise<string> {
    if ((await this.#store.find(source.digest)) !== null) return source.digest
    return (await this.pull(source, signal ?? new AbortController().signal)).digest
  }

  /** The folder where the image is mounted. The caller holds the key of a Sandbox that is recorded to have it. */
  root(digest: string): Promise<string> {
    return this.#turns.pass(ImageStore.keyOf(digest), async () => {
      const folder = join(this.#mounts, mountName(digest))
      if (isMounted(folder)) return folder
      if ((await this.#store.find(digest)) === null) throw new Error(`image ${digest} was removed before the boot`)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      // Users of Sandboxes may only pass through. By chmod, because the umask reduces the mode of mkdir.
      await chmod(this.#mounts, 0o711)
      const mount = ["mount", "-t", "squashfs", "-o", "loop,ro,nosuid,nodev", this.#store.path(digest), folder] as const
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
        if (!(await this.#isUsed(digest))) await this.#unmount(digest)
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

  /** Lazy: a launch that has just ended may still hold it. */
  async #unmount(digest: string): Promise<void> {
    const folder = join(this.#mounts, mountName(digest))
    if (!existsSync(folder)) return
    if (isMounted(folder)) await hostCommand(["umount", "-l", folder])
    await rmdir(folder)
  }

  async #isAble(): Promise<boolean> {
    this.#obstacle ??= imageObstacle(this.#layout.volumesEnforced)
    const obstacle = await this.#obstacle
    if (obstacle !== null) await this.#run(Effect.logWarning(`No images here: ${obstacle.found} ${obstacle.mend}`))
    return obstacle === null
  }
}
