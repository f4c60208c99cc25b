/**
 * The snapshots of a driver on this host, in one folder:
 *
 *     <snapshotId>.img              the image of the volume
 *     <snapshotId>.json             what is known of it; written before the image has its name
 *     <snapshotId>.memory           with memory: the state of the machine that had this volume
 *     <snapshotId>.root             with memory: the root disk of that machine
 *     <snapshotId>.<uuid>.partial   an image that is being made, or that a killed process left
 *     <snapshotId>.receiving        an image that comes from elsewhere, or that a killed process left
 *     <snapshotId>.received         one that is here, and not checked yet
 *
 * Nothing changes an image once it has its name. Callers hold the snapshot's key in the driver's host mutex (`keyOf`) while they make or remove one.
 */
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Option, Schema } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { waitForAll } from "../../platform/concurrency/waitForAll.ts"
import { type CapturedSnapshot, RuntimeRefused, type SnapshotImage } from "../../runtime/Runtime.ts"
import { checkImage, ImageUnusable } from "./checkedImage.ts"
import { freeDiskBytes, type PromisedFile } from "./diskRoom.ts"
import type { HostMutex } from "./HostMutex.ts"
import { flushed } from "./imageCopy.ts"
import { imagePieces, writePieces } from "./imagePieces.ts"
import { isSandboxId, readRecord, writeRecord } from "./SandboxRecords.ts"
import { allocatedBytes } from "./volumeImage.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const SnapshotRecord = Schema.Struct({
  /** See `CapturedSnapshot`. */
  pausedMs: Schema.Finite,
  /** The image shares this much with the volume that it is a copy of, as both may come to need it for themselves. */
  sharedBytes: Count,
  /** The user id of the volume's files on the disk; null: that of each machine's guests. */
  owner: Schema.NullOr(Count),
  /** Absent: it has the volume only. `machine`: which machines can load the state, as the driver says it; these are the sizes of that machine. */
  memory: Schema.optionalKey(Schema.Struct({ machine: Schema.String, vcpus: Schema.Finite, memoryBytes: Count }))
})
export type SnapshotRecord = typeof SnapshotRecord.Type

/** What the check of an image may write to it. */
const CHECK_MIN_BYTES = 1024 ** 2
/** Longer than an upload may be silent, and than the insert of a snapshot takes. */
const RECEIVED_MS = 10 * 60_000

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
    message: publicText`The Sandbox has no volume on its host.`
  })

/** The error for the tenant. The operator's log has the host's figures and settings. */
export const noRoomForSnapshot = (): RuntimeRefused =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`This host has no room for the snapshot now. Try again later, or delete another snapshot or Sandbox.`
  })

/** The files of a machine's memory: they belong to one another and to the volume of the same instant. */
export interface StoredMemory {
  readonly state: string
  readonly rootDisk: string
}

export interface StoredSnapshot {
  readonly image: string
  readonly record: SnapshotRecord
  /** The size of the volume, and what its image occupies. */
  readonly volumeBytes: number
  readonly imageBytes: number
  /** Null: it has the volume only. */
  readonly memory: (StoredMemory & Required<SnapshotRecord>["memory"]) | null
  /** Of all its files. */
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
    const volume = { image, record, volumeBytes: found.size, imageBytes: found.blocks * 512 }
    if (record.memory === undefined) {
      return { ...volume, memory: null, sizeBytes: volume.volumeBytes, storedBytes: volume.imageBytes }
    }
    const files = this.#memoryOf(snapshotId)
    const sizes = await Promise.all([files.state, files.rootDisk].map(allocatedBytes))
    return {
      ...volume,
      memory: { ...files, ...record.memory },
      sizeBytes: volume.volumeBytes + record.memory.memoryBytes,
      storedBytes: sizes.reduce<number>((sum, size) => sum + (size ?? 0), volume.imageBytes)
    }
  }

  /** A path for the image of a snapshot that a backup has; its record is written. */
  async restore(snapshotId: string, record: SnapshotRecord): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    // Nothing shares its blocks any more, and a backup has no memory.
    const { memory: _, ...ofVolume } = record
    await writeRecord(this.#path(snapshotId, "json"), { ...ofVolume, sharedBytes: 0 }, { durable: true })
    return this.#path(snapshotId, "img")
  }

  /** Rejects with SnapshotMissing. */
  async image(snapshotId: string): Promise<SnapshotImage> {
    const found = await this.find(snapshotId)
    if (found === null) throw new SnapshotMissing(`snapshot ${snapshotId} is not in ${this.folder}`)
    const { image, record, volumeBytes } = found
    return { sizeBytes: volumeBytes, owner: record.owner, pieces: imagePieces(image) }
  }

  /** Where `receive` writes. */
  receivingPath(snapshotId: string): string {
    return this.#path(snapshotId, "receiving")
  }

  /** Stores an image of elsewhere for `accept`. Where its pieces fail, nothing is left. One that was accepted stays as it is, and no piece is read. */
  async receive(snapshotId: string, { sizeBytes, owner, pieces }: SnapshotImage): Promise<void> {
    if ((await this.find(snapshotId)) !== null) return
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const path = this.receivingPath(snapshotId)
    // A killed process left it.
    await rm(path, { force: true })
    try {
      await writePieces(path, sizeBytes, pieces)
      const record: SnapshotRecord = { pausedMs: 0, sharedBytes: 0, owner }
      await writeRecord(this.#path(snapshotId, "json"), record, { durable: true })
      await rename(path, this.#path(snapshotId, "received"))
      await flushed(this.folder)
    } catch (cause) {
      for (const kind of ["receiving", "json"]) await rm(this.#path(snapshotId, kind), { force: true })
      throw cause
    }
  }

  /** Makes a received image the snapshot. Rejects with SnapshotMissing or ImageUnusable, or where the disk is full. See `checkImage`. */
  async accept(snapshotId: string, isMountedHere: boolean): Promise<StoredSnapshot> {
    const present = await this.find(snapshotId)
    if (present !== null) return present
    const received = this.#path(snapshotId, "received")
    if (!existsSync(received)) throw new SnapshotMissing(`nothing was received for ${snapshotId} in ${this.folder}`)
    try {
      await checkImage(received, isMountedHere)
    } catch (cause) {
      // The checking programs say of a write that has failed that the image is damaged.
      if (!(cause instanceof ImageUnusable) || (await freeDiskBytes(this.folder)) >= CHECK_MIN_BYTES) throw cause
      throw new Error(`ENOSPC: a received image was not checked (${cause.message})`)
    }
    await rename(received, this.#path(snapshotId, "img"))
    await flushed(this.folder)
    const made = await this.find(snapshotId)
    if (made === null) throw new Error(`snapshot ${snapshotId} was removed while it was accepted`)
    return made
  }

  /** A path for a file that is to be made. */
  async begin(snapshotId: string): Promise<string> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    return this.#path(snapshotId, `${randomUUID()}.partial`)
  }

  /** Makes the image at `partial` the snapshot, with the files of its memory where it has one. */
  async complete(
    snapshotId: string,
    partial: string,
    record: SnapshotRecord,
    memory: StoredMemory | null = null
  ): Promise<void> {
    const ofMemory = memory === null ? [] : [memory.state, memory.rootDisk]
    await waitForAll(
      writeRecord(this.#path(snapshotId, "json"), record, { durable: true }),
      ...[partial, ...ofMemory].map(flushed)
    )
    if (memory !== null) {
      const { state, rootDisk } = this.#memoryOf(snapshotId)
      await rename(memory.state, state)
      await rename(memory.rootDisk, rootDisk)
    }
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
    const names = await this.#names()
    const kinds = names.includes(`${own}img`) ? ["img", "json", "memory", "root"] : ["json"]
    for (const name of names) {
      if (name.startsWith(own) && !kinds.includes(name.slice(own.length)))
        await rm(join(this.folder, name), { force: true })
    }
  }

  /** The ids of all that is here, whole or unfinished; without what was received a short time ago, whose snapshot may be inserted soon. */
  async ids(): Promise<ReadonlyArray<string>> {
    const names = await this.#names()
    const idOf = (name: string) => name.slice(0, name.indexOf("."))
    const recent = new Set<string>()
    for (const name of names) {
      if (/\.receiv(?:ing|ed)$/.test(name) && !(await this.#isOld(name))) recent.add(idOf(name))
    }
    return [...new Set(names.map(idOf).filter((id) => isSandboxId(id) && !recent.has(id)))]
  }

  /** Removes what killed processes left unfinished, where `turns` says that no process is at it. */
  async tidy(turns: HostMutex): Promise<void> {
    for (const snapshotId of await this.ids()) {
      const release = await turns.holdIfFree(SnapshotStore.keyOf(snapshotId))
      if (release === null) continue
      try {
        // A snapshot may still be about to accept it: the reconciler knows.
        if (existsSync(this.#path(snapshotId, "received"))) continue
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

  #memoryOf(snapshotId: string): StoredMemory {
    return { state: this.#path(snapshotId, "memory"), rootDisk: this.#path(snapshotId, "root") }
  }

  #path(snapshotId: string, kind: string): string {
    if (!isSandboxId(snapshotId)) throw new Error("a snapshotId is 1 to 64 letters, digits, - or _")
    return join(this.folder, `${snapshotId}.${kind}`)
  }

  /** True when nothing wrote to it for so long that no upload goes on. */
  async #isOld(name: string): Promise<boolean> {
    const found = await stat(join(this.folder, name)).catch(() => null)
    return found === null || Date.now() - found.mtimeMs > RECEIVED_MS
  }

  async #names(): Promise<ReadonlyArray<string>> {
    return await readdir(this.folder).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === "ENOENT") return []
      throw cause
    })
  }
}
