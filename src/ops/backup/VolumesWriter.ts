/** Writes volumes into an archive: first images while they are in use, then their changes once they are held. */
import { setTimeout as sleep } from "node:timers/promises"
import { imagePieces } from "../../host/linux/imagePieces.ts"
import type { StillVolume } from "../../host/linux/StillVolume.ts"
import type { ArchiveWriter } from "./Archive.ts"
import { ArchiveUnusable } from "./ArchiveUnusable.ts"
import { type ImageDigest, readChanges, readImage, type Take } from "./image.ts"
import type { Progress } from "./Progress.ts"
import { readTree } from "./tree.ts"
import type { ImageVolume, SnapshotImage, TreeVolume, Volume } from "./volumes.ts"

/** How often a volume is held again because it was written to meanwhile, or released before its reading ended. */
const holdsMax = 5
/** Waiting writers run between two holds. */
const betweenHoldsMs = 1_000

/** A volume of which a part is in the archive. */
export interface BegunVolume {
  readonly volume: ImageVolume
  digest: ImageDigest
}

/** Its Sandbox was deleted during the backup. */
const isMissing = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === "ENOENT"

/** Null when it was deleted. */
export const heldStill = (volume: ImageVolume): Promise<StillVolume | null> =>
  volume.hold().catch((cause: unknown) => (isMissing(cause) ? null : Promise.reject(cause)))

export class VolumesWriter {
  /** Sandboxes whose volumes are newer than the database, each at its own moment. */
  readonly later: Array<string> = []
  /** Sandboxes whose volumes could not be held: each file is as it was when it was read. */
  readonly unheld: Array<string> = []
  private readonly gone = new Set<ImageVolume>()
  private readonly writer: ArchiveWriter
  private readonly progress: Progress
  private readonly allBytes: number

  /** @param volumes Used only for the progress. */
  constructor(writer: ArchiveWriter, volumes: ReadonlyArray<Volume>, progress: Progress) {
    this.writer = writer
    this.progress = progress
    this.allBytes = volumes.reduce((sum, it) => sum + (it.form === "image" ? it.allocatedBytes : 0), 0)
  }

  /** Writes the image while it is in use. */
  async begin(volume: ImageVolume, signal: AbortSignal): Promise<BegunVolume> {
    await this.writer.json("volume", volume.about)
    this.writer.counts.volumes += 1
    try {
      return { volume, digest: await readImage(volume.image, this.take, signal) }
    } catch (cause) {
      if (!isMissing(cause)) throw cause
      await this.forget(volume)
      return { volume, digest: { chunks: new Map(), writtenAt: null } }
    }
  }

  /** Writes the changes of a held volume. False when it was written to meanwhile. */
  async finish(begun: BegunVolume, still: StillVolume, signal: AbortSignal): Promise<boolean> {
    const { volume } = begun
    if (this.gone.has(volume)) return true
    await this.writer.json("again", volume.about)
    try {
      begun.digest = await readChanges(volume.image, begun.digest, this.take, signal)
      return await still.isStill()
    } catch (cause) {
      if (!isMissing(cause)) throw cause
      await this.forget(volume)
      return true
    }
  }

  /** Holds and finishes one volume separately. */
  async finishLater(begun: BegunVolume, signal: AbortSignal): Promise<void> {
    const { volume } = begun
    if (this.gone.has(volume)) return
    const { digest } = begun
    for (let holds = 1; holds <= holdsMax; holds++) {
      const still = await heldStill(volume)
      if (still === null) return this.forget(volume)
      try {
        if (await this.finish(begun, still, signal)) {
          // The same digest: no write since before the snapshot.
          if (begun.digest !== digest) this.later.push(volume.about.sandboxId)
          return
        }
      } finally {
        await still.letGo()
      }
      await sleep(betweenHoldsMs, null, { signal })
    }
    throw new ArchiveUnusable({
      message: `The volume of ${volume.about.sandboxId} was never still for as long as it took to read it: stop that Sandbox first.`
    })
  }

  /** Marks the volume as deleted. */
  async forget(volume: ImageVolume): Promise<void> {
    if (this.gone.has(volume)) return
    this.gone.add(volume)
    this.writer.counts.volumes -= 1
    await this.writer.json("gone", volume.about)
  }

  /** Nothing changes an image once it is whole. One that was deleted meanwhile is left out. */
  async snapshot({ about, image }: SnapshotImage, signal: AbortSignal): Promise<void> {
    const pieces = imagePieces(image)
    let piece = await pieces.next().catch((cause: unknown) => (isMissing(cause) ? null : Promise.reject(cause)))
    if (piece === null) return
    await this.writer.json("snapshot", about)
    this.writer.counts.snapshots += 1
    try {
      for (; piece.done !== true; piece = await pieces.next()) {
        signal.throwIfAborted()
        const { offset, bytes } = piece.value
        await this.take(offset, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
      }
    } finally {
      await pieces.return(undefined)
    }
  }

  async tree({ about, folder, isUp }: TreeVolume, signal: AbortSignal): Promise<void> {
    const wasUp = isUp()
    await this.writer.json("volume", about)
    this.writer.counts.volumes += 1
    let offset = 0
    const isAsItWas = await readTree(folder, "volume", async (bytes) => {
      signal.throwIfAborted()
      await this.take(offset, bytes)
      offset += bytes.length
    })
    if (wasUp || isUp() || !isAsItWas) this.unheld.push(about.sandboxId)
  }

  private readonly take: Take = async (offset, bytes) => {
    const at = Buffer.alloc(8)
    at.writeBigUInt64LE(BigInt(offset))
    const { counts } = this.writer
    counts.pieceBytes += bytes.length
    this.progress("volumes", counts.pieceBytes, Math.max(this.allBytes, counts.pieceBytes))
    await this.writer.write("piece", Buffer.concat([at, bytes]))
  }
}
