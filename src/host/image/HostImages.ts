/** The images of one host: pulled once for each digest, for the drivers of any kind. */
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { Effect } from "effect"
import type { PublicText } from "../../../schemas/PublicText.ts"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import {
  type ImageSource,
  type Images,
  type PulledImage,
  RuntimeRefused,
  RuntimeUnavailable,
  type SandboxSpec
} from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { ImageStore } from "./ImageStore.ts"
import { ImageUploads } from "./ImageUploads.ts"
import { isDigest } from "./imageReference.ts"
import { busy, noRoom, uploadLost } from "./imageRefusals.ts"
import { arriving, leaving } from "./imageTravel.ts"
import { type MakeOptions, type Pulled, pullImage, takeArchive } from "./pullImage.ts"
import type { SandboxUser } from "./sandboxPlaces.ts"

export interface ImageLimits {
  readonly maxBytes: number
  /** `host[:port]` of registries that may have private addresses, or no TLS. */
  readonly registries: ReadonlyArray<string>
}

/** Why this host cannot give a Sandbox an image as its root. */
export interface ImageObstacle {
  readonly found: string
  /** What the operator can do. */
  readonly mend: string
}

export interface HostImagesOptions {
  /** The driver's folder of Sandboxes. */
  readonly root: string
  readonly turns: HostMutex
  readonly limits: ImageLimits
  readonly user: SandboxUser
  /** Room on the disk for a file that grows to so many bytes. `take` rejects where there is none. */
  readonly room: {
    readonly take: (path: string, bytes: number) => Promise<void>
    readonly giveBack: (path: string) => void
  }
  /** Whether a fault says that this host has no room. */
  readonly isShortage: (cause: unknown) => cause is Error
  /** Null: this host can have images. */
  readonly obstacle: () => Promise<ImageObstacle | null>
  /** What a host needs for images: one sentence for the account. */
  readonly unsupported: PublicText
  /** Where images can be had: why no Dockerfile can be built here. Null: one can. */
  readonly buildObstacle: () => Promise<ImageObstacle | null>
  /** What a host needs for builds: one sentence for the account. */
  readonly unbuilt: PublicText
  /** Ends what the driver has of an image that is to be removed. The caller holds the image's key. */
  readonly released: (digest: string) => Promise<void>
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

/** Each unpacks and compresses. */
const PULLS_MAX = 4
/** Archives that arrive at the same time; their senders may be slow. */
const RECEIVED_MAX = 64
/** A file system of files that cannot be compressed is larger than these. */
const SQUASHFS_MORE_BYTES = 256 * 1024 ** 2
const STALL_MS = 60_000
const PULL_MAX_MS = 3_600_000

export class HostImages {
  readonly #options: HostImagesOptions
  readonly #store: ImageStore
  readonly #uploads: ImageUploads
  readonly #pulls = new Semaphore(PULLS_MAX)
  readonly #large = new Semaphore(1)
  #receiving = 0
  #able: Promise<boolean> | null = null
  #builds: Promise<PublicText | null> | null = null

  constructor(options: HostImagesOptions) {
    this.#options = options
    this.#store = new ImageStore(options.root)
    this.#uploads = new ImageUploads(this.#store.folder)
  }

  /** Whether images can be pulled and given to Sandboxes here; the log says why not, once. */
  isAble(): Promise<boolean> {
    this.#able ??= this.#options.obstacle().then(async (obstacle) => {
      if (obstacle !== null)
        await this.#options.run(Effect.logWarning(`No images here: ${obstacle.found} ${obstacle.mend}`))
      return obstacle === null
    })
    return this.#able
  }

  /** Why no Dockerfile can be built here; null: one can. The log has the cause, once. */
  buildObstacle(): Promise<PublicText | null> {
    const { buildObstacle, unsupported, unbuilt, run } = this.#options
    const found = async () => {
      if (!(await this.isAble())) return unsupported
      const obstacle = await buildObstacle()
      if (obstacle !== null) await run(Effect.logWarning(`No builds here: ${obstacle.found} ${obstacle.mend}`))
      return obstacle === null ? null : unbuilt
    }
    // A host whose programs cannot be asked builds none.
    this.#builds ??= found().catch(() => unbuilt)
    return this.#builds
  }

  /** Rejects where a Sandbox is to build a Dockerfile, and no Dockerfile can be built here. */
  async admitBuilder({ builder }: SandboxSpec): Promise<void> {
    const message = builder === true ? await this.buildObstacle() : null
    if (message !== null) throw new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message })
  }

  /** Rejects with RuntimeRefused or RuntimeUnavailable. */
  pull(source: ImageSource, signal: AbortSignal): Promise<PulledImage> {
    // An image that was uploaded has no registry: its digest stands for its reference.
    if (isDigest(source.reference)) return Promise.reject(uploadLost())
    return this.#asked(() => this.#pulls.run(() => this.#pull(source, signal), signal))
  }

  /** As `pull`. */
  accept(imageId: string, signal: AbortSignal): Promise<PulledImage> {
    return this.#asked(() => this.#pulls.run(() => this.#accept(imageId, signal), signal))
  }

  /** Stores an archive of an image until `discard`. Where `pieces` throws, it leaves nothing. */
  receive(imageId: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const { limits, room } = this.#options
    return this.#asked(async () => {
      if (this.#receiving === RECEIVED_MAX) throw busy()
      this.#receiving += 1
      try {
        await this.#uploads.receive(imageId, pieces, {
          maxBytes: limits.maxBytes,
          room: room.take,
          giveBack: room.giveBack
        })
      } finally {
        this.#receiving -= 1
      }
    })
  }

  discard(imageId: string): Promise<void> {
    return this.#uploads.remove(imageId)
  }

  uploads(): Promise<ReadonlyArray<string>> {
    return this.#uploads.ids()
  }

  async #asked<A>(act: () => Promise<A>): Promise<A> {
    if (!(await this.isAble()))
      throw new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message: this.#options.unsupported })
    try {
      return await act()
    } catch (cause) {
      if (cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable) throw cause
      const message = cause instanceof Error ? cause.message : String(cause)
      if (!this.#options.isShortage(cause)) throw unavailable(message)
      await this.#options.run(Effect.logWarning(`An image was refused: ${message}`))
      throw noRoom()
    }
  }

  async #pull(source: ImageSource, signal: AbortSignal): Promise<PulledImage> {
    const registry = { allowed: new Set(this.#options.limits.registries), stallMs: STALL_MS }
    return await this.#made(await pullImage(source, { ...this.#making(signal), ...registry }))
  }

  async #accept(imageId: string, signal: AbortSignal): Promise<PulledImage> {
    const digest = this.#uploads.digest(imageId)
    const present = digest === null ? null : await this.#store.find(digest)
    if (present !== null) return present
    const path = this.#uploads.path(imageId)
    if (!existsSync(path)) throw uploadLost()
    const image = await this.#made(await takeArchive(path, this.#making(signal)))
    await this.#uploads.taken(imageId, image.digest)
    return image
  }

  #making(signal: AbortSignal): MakeOptions {
    const { user, limits, turns, room } = this.#options
    return {
      store: this.#store,
      user,
      maxBytes: limits.maxBytes,
      signal: AbortSignal.any([signal, AbortSignal.timeout(PULL_MAX_MS)]),
      inTurn: (key, act) => turns.pass(key, act),
      room: room.take,
      large: () => this.#large.acquire(signal),
      giveBack: room.giveBack
    }
  }

  async #made({ image, dropped }: Pulled): Promise<PulledImage> {
    if (dropped > 0) {
      await this.#options.run(Effect.logInfo(`Image ${image.digest}: ${dropped} devices and pipes of it are left out.`))
    }
    return image
  }

  /** A whole image, for another host. Rejects with a RuntimeRefused when it is not here. */
  async read(digest: string): Promise<AsyncIterable<Uint8Array>> {
    const image = await this.#store.find(digest)
    if (image === null) throw uploadLost()
    return leaving(this.#store.path(digest), image, this.#options.user)
  }

  /** Stores an image of another host. Where `pieces` throws, it leaves nothing. */
  store(digest: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const { turns, limits, room, user } = this.#options
    return this.#asked(() =>
      turns.pass(ImageStore.keyOf(digest), async () => {
        if ((await this.#store.find(digest)) !== null) return
        const { partial } = await this.#store.begin(digest)
        try {
          const { sizeBytes, config } = await arriving(partial, pieces, {
            user,
            maxBytes: limits.maxBytes + SQUASHFS_MORE_BYTES,
            room: room.take
          })
          await this.#store.complete(digest, partial, sizeBytes, config)
        } finally {
          await rm(partial, { force: true })
          room.giveBack(partial)
        }
      })
    )
  }

  /** Running Sandboxes keep their root. */
  remove(digest: string): Promise<void> {
    return this.#options.turns.pass(ImageStore.keyOf(digest), async () => {
      await this.#options.released(digest)
      await this.#store.remove(digest)
    })
  }

  inventory(): Promise<ReadonlyArray<string>> {
    return this.#store.digests()
  }

  tidy(): Promise<void> {
    return this.#store.tidy(this.#options.turns)
  }

  /** The digest of the image that this Sandbox starts from; it is pulled if it is not here. */
  async present(source: ImageSource & { readonly digest: string }, signal?: AbortSignal): Promise<string> {
    if ((await this.#store.find(source.digest)) !== null) return source.digest
    return (await this.pull(source, signal ?? new AbortController().signal)).digest
  }

  /** Runs `use` with the image's file, which stays meanwhile. Rejects when it is not here. */
  whilePresent<A>(digest: string, use: (path: string) => Promise<A>): Promise<A> {
    return this.#options.turns.pass(ImageStore.keyOf(digest), async () => {
      if ((await this.#store.find(digest)) === null) throw new Error(`image ${digest} was removed before the boot`)
      return await use(this.#store.path(digest))
    })
  }
}

const failed = (cause: unknown): RuntimeRefused | RuntimeUnavailable =>
  cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable
    ? cause
    : unavailable(cause instanceof Error ? cause.message : String(cause))

/** Runs `pull`. An interruption ends it, and removes what it has unpacked, before it returns. */
export const pulling = <A>(
  pull: (signal: AbortSignal) => Promise<A>
): Effect.Effect<A, RuntimeRefused | RuntimeUnavailable> =>
  Effect.callback<A, RuntimeRefused | RuntimeUnavailable>((resume) => {
    const wanted = new AbortController()
    const pulled = pull(wanted.signal).then(
      (image) => resume(Effect.succeed(image)),
      (cause) => resume(Effect.fail(failed(cause)))
    )
    return Effect.promise(() => {
      wanted.abort()
      return pulled
    })
  })

/** As the `Runtime` shows them. */
export const imagesOf = (images: HostImages): Images => ({
  pull: (source) => pulling((signal) => images.pull(source, signal)),
  receive: (imageId, pieces) =>
    Effect.uninterruptible(Effect.tryPromise({ try: () => images.receive(imageId, pieces), catch: failed })),
  accept: (imageId) => pulling((signal) => images.accept(imageId, signal)),
  read: (digest) => Effect.uninterruptible(Effect.tryPromise({ try: () => images.read(digest), catch: failed })),
  store: (digest, pieces) =>
    Effect.uninterruptible(Effect.tryPromise({ try: () => images.store(digest, pieces), catch: failed })),
  discard: (imageId) => Effect.uninterruptible(attempt("discarding an upload", () => images.discard(imageId))),
  uploads: Effect.uninterruptible(attempt("listing uploads", () => images.uploads())),
  remove: (digest) => Effect.uninterruptible(attempt("removing an image", () => images.remove(digest))),
  inventory: Effect.uninterruptible(attempt("listing images", () => images.inventory())),
  // A host whose programs cannot be asked runs none.
  isAble: Effect.promise(() => images.isAble().catch(() => false)),
  buildObstacle: Effect.promise(() => images.buildObstacle())
})
