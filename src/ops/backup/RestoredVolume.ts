/** A volume that is restored into a data folder. */
import { randomUUID } from "node:crypto"
import { chmod, type FileHandle, mkdir, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { sandboxFolder, writeRecord } from "../../host/linux/SandboxRecords.ts"
import { SnapshotStore } from "../../host/linux/SnapshotStore.ts"
import type { ArchivedSnapshot, ArchivedVolume } from "./Archive.ts"
import { TreeWriter } from "./tree.ts"
import { imageOf, rootOf } from "./volumes.ts"

type Named = Pick<ArchivedVolume, "sandboxId" | "driver">

export class RestoredVolume {
  private readonly into: FileHandle | TreeWriter

  private constructor(into: FileHandle | TreeWriter) {
    this.into = into
  }

  /** Makes its folder, the driver's record, and an image that is one hole. No record of a run is restored. */
  static async make(
    dataDir: string,
    { sandboxId, driver, form, bytes, record }: ArchivedVolume
  ): Promise<RestoredVolume> {
    const root = rootOf(dataDir, driver)
    const folder = sandboxFolder(root, sandboxId)
    const isRoot = process.getuid?.() === 0
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (isRoot) for (const path of [join(dataDir, "runtime"), root]) await chmod(path, 0o711)
    const known = record as { readonly uid: number | null } | null
    if (known !== null && driver === "namespace") {
      await writeRecord(join(folder, "spec.json"), { ...known, uid: isRoot ? known.uid : null }, { durable: true })
    }
    if (known !== null && driver === "qemu") {
      await chmod(folder, isRoot ? 0o711 : 0o700)
      const own = { state: "stopped", uuid: randomUUID(), process: null, network: null }
      await writeRecord(
        join(folder, "record.json"),
        { ...known, uid: isRoot ? known.uid : null, ...own },
        { durable: true }
      )
    }
    if (form === "tree") return new RestoredVolume(new TreeWriter(folder))
    const file = await open(imageOf(dataDir, driver, sandboxId), "w", 0o600)
    await file.truncate(bytes)
    if (isRoot && driver === "qemu" && typeof known?.uid === "number") await file.chown(known.uid, known.uid)
    return new RestoredVolume(file)
  }

  /** The image of a snapshot. */
  static async ofSnapshot(
    dataDir: string,
    { snapshotId, driver, bytes, record }: ArchivedSnapshot
  ): Promise<RestoredVolume> {
    const root = rootOf(dataDir, driver)
    const path = await new SnapshotStore(root).restore(snapshotId, record)
    if (process.getuid?.() === 0) for (const folder of [join(dataDir, "runtime"), root]) await chmod(folder, 0o711)
    const file = await open(path, "w", 0o600)
    await file.truncate(bytes)
    return new RestoredVolume(file)
  }

  /** Opens an image of which earlier pieces were written. */
  static async again(dataDir: string, { sandboxId, driver }: Named): Promise<RestoredVolume> {
    return new RestoredVolume(await open(imageOf(dataDir, driver, sandboxId), "r+"))
  }

  /** Removes the volume: its Sandbox was deleted while the archive was written. */
  static async remove(dataDir: string, { sandboxId, driver }: Named): Promise<void> {
    await rm(sandboxFolder(rootOf(dataDir, driver), sandboxId), { recursive: true, force: true })
  }

  async put(offset: number, bytes: Uint8Array): Promise<void> {
    if (this.into instanceof TreeWriter) return this.into.put(bytes)
    for (let written = 0; written < bytes.length; ) {
      const { bytesWritten } = await this.into.write(bytes, written, bytes.length - written, offset + written)
      written += bytesWritten
    }
  }

  async close(): Promise<void> {
    if (!(this.into instanceof TreeWriter)) await this.into.sync()
    await this.into.close()
  }
}
