/**
 * The snapshots of a driver on this host, in one folder:
 *
 *     <snapshotId>.img              the image of the volume
 *     <snapshotId>.json             what is known of it; written before the image has its name
 *     <snapshotId>.<uuid>.partial   an image that is being made, or that a killed process left
 *
 * Nothing changes an image once it has its name. Callers hold the snapshot's key in the driver's host mutex (`keyOf`) while they make or remove one.
 */
import { randomUUID } from "node:crypto"
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Option, Schema } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { type CapturedSnapshot, RuntimeRefused } from "../../runtime/Runtime.ts"
import type { PromisedFile } from "./diskRoom.ts"
import type { HostMutex } from "./HostMutex.ts"
import { flushed } from "./imageCopy.ts"
import { isSandboxId, readRecord, writeRecord } from "./SandboxRecords.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const SnapshotRecord = Schema.Struct({
  /** See `CapturedSnapshot`. */
  pausedMs: Schema.Finite,
  /** The image shares this much with the volume that it is a copy of, as both may come to need it for themselves. */
  sharedBytes: Count,
  /** The user id of the volume's files on the disk; null: that of each machine's guests. */
  owner: Schema.NullOr(Count)
})
export type SnapshotRecord = typeof SnapshotRecord.Type

const decode = Schema.decodeUnknownOption(SnapshotRecord)

/** The snapshot is not on this host. */
export class SnapshotMissing extends Error {}

export const snapshotMissing = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "SNAPSHOT_MISSING",
    message: publicText`The snapshot is not on its host any more, so no Sandbox starts from it.`
  })

export const noVolume = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "VOLUME_MISSING",
    message: publicText`The Sandbox has no volume on its host, so no snapshot of it can be taken.`
  })

/** The error for the tenant. The operator's log has the host's figures and settings. */
export const noRoomForSnapshot = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`This host has no room for the snapshot now. Try again later, or delete another snapshot or Sandbox.`
  })

export interface StoredSnapshot {
  readonly image: string
  readonly record: SnapshotRecord
  readonly sizeBytes: number
  readonly storedBytes: number
}

export const capturedOf = ({ record, sizeBytes, storedBytes }: StoredSnapshot): CapturedSnapshot => ({
  hostId: null,
  sizeBytes,
  storedBytes,
  pausedMs: record.pausedMs
})

export class SnapshotStore {
  readonly folder: string

  /** @param root The driver's folder of Sandboxes. */
  constructor(root: string) {
    this.folder = join(root, ".snapshots")
  }

  /** The snapshot's key in the host mutex; no Sandbox's or spare's. */
  static keyOf(snapshotId: string): string {
    return `snapshot.${snapshotId}`
  }

  /** Null when it is not here, or unfinished. */
  async find(snapshotId: string): Promise<StoredSnapshot | null> {
    const image = this.#path(snapshotId, "img")
    const found = await stat(image).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return null
      throw cause
    })
    const record = Option.getOrNull(decode(readRecord(this.#path(snapshotId, "json"))))
    if (found === null || record === null) return null
    return { image, record, sizeBytes: found.size, storedBytes: found.blocks * 512 }
  }

  /** A path for an image that is to be made. */
  async begin(snapshotId: string): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    return this.#path(snapshotId, `${randomUUID()}.partial`)
  }

  /** Makes the image at `partial` the snapshot. */
  async complete(snapshotId: string, partial: string, record: SnapshotRecord): Promise<void> {
    await flushed(partial)
    await writeRecord(this.#path(snapshotId, "json"), record, { durable: true })
    await rename(partial, this.#path(snapshotId, "img"))
    await flushed(this.folder)
  }

  /** Removes it, and what is unfinished of it. */
  async remove(snapshotId: string): Promise<void> {
    // First the image: without it there is no snapshot.
    await rm(this.#path(snapshotId, "img"), { force: true })
    await this.removeUnfinished(snapshotId)
    await rm(this.#path(snapshotId, "json"), { force: true })
  }

  /** Removes images that a killed process was making. */
  async removeUnfinished(snapshotId: string): Promise<void> {
    const own = `${snapshotId}.`
    for (const name of await this.#names()) {
      if (name.startsWith(own) && name !== `${own}img` && name !== `${own}json`)
        await rm(join(this.folder, name), { force: true })
    }
  }

  /** The ids of all that is here, whole or unfinished. */
  async ids(): Promise<ReadonlyArray<string>> {
    const ids = (await this.#names()).map((name) => name.slice(0, name.indexOf(".")))
    return [...new Set(ids.filter(isSandboxId))]
  }

  /** Removes what killed processes left unfinished, where `turns` says that no process is at it. */
  async tidy(turns: HostMutex): Promise<void> {
    for (const snapshotId of await this.ids()) {
      const release = await turns.holdIfFree(SnapshotStore.keyOf(snapshotId))
      if (release === null) continue
      try {
        if ((await this.find(snapshotId)) === null) await this.remove(snapshotId)
        else await this.removeUnfinished(snapshotId)
      } finally {
        release()
      }
    }
  }

  /** The room that the snapshots may still take: a shared block takes its own room once the volume that shares it changes. */
  async promised(): Promise<ReadonlyArray<PromisedFile>> {
    const found = await Promise.all((await this.ids()).map((snapshotId) => this.find(snapshotId)))
    return found.flatMap((it) => (it === null ? [] : [{ bytes: it.record.sharedBytes, allocatedBytes: 0 }]))
  }

  #path(snapshotId: string, kind: string): string {
    if (!isSandboxId(snapshotId)) throw new Error("a snapshotId is 1 to 64 letters, digits, - or _")
    return join(this.folder, `${snapshotId}.${kind}`)
  }

  async #names(): Promise<ReadonlyArray<string>> {
    return await readdir(this.folder).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return []
      throw cause
    })
  }
}
