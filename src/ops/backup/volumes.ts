/** Lists the volumes of a data folder. */
import { existsSync } from "node:fs"
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { isServed } from "../../app/ServiceProcesses.ts"
import { isMounted } from "../../host/linux/mountTable.ts"
import { sandboxFolder, sandboxIdsIn } from "../../host/linux/SandboxRecords.ts"
import { SnapshotStore } from "../../host/linux/SnapshotStore.ts"
import type { StillVolume } from "../../host/linux/StillVolume.ts"
import { openExistingPool } from "../../host/linux/volumePool.ts"
import { HostLayout } from "../../host/namespace/HostLayout.ts"
import { isUp, type SandboxState } from "../../host/namespace/SandboxState.ts"
import { holdVolume } from "../../host/namespace/volumeHold.ts"
import { machineFiles } from "../../host/qemu/machineArguments.ts"
import { holdMachineVolume } from "../../host/qemu/machineHold.ts"
import { SandboxFolder } from "../../host/qemu/SandboxFolder.ts"
import type { ArchivedSnapshot, ArchivedVolume } from "./Archive.ts"
import { ArchiveUnusable } from "./ArchiveUnusable.ts"

type Driver = ArchivedVolume["driver"]

export const rootOf = (dataDir: string, driver: Driver): string => join(dataDir, "runtime", driver)

export const imageOf = (dataDir: string, driver: Driver, sandboxId: string): string =>
  join(sandboxFolder(rootOf(dataDir, driver), sandboxId), driver === "namespace" ? "volume.img" : machineFiles.volume)

export interface ImageVolume {
  readonly form: "image"
  readonly about: ArchivedVolume
  readonly image: string
  /** Bytes on the host's disk. */
  readonly allocatedBytes: number
  readonly hold: () => Promise<StillVolume>
  /** A hold pauses the whole Sandbox, not only its writes, so it must last no longer than the reading. */
  readonly isPaused: boolean
}

/** A plain folder, as used without root: it cannot be held. */
export interface TreeVolume {
  readonly form: "tree"
  readonly about: ArchivedVolume
  /** The parent of its folder. */
  readonly folder: string
  readonly isUp: () => boolean
}

export type Volume = ImageVolume | TreeVolume

const plainFolder = (state: SandboxState): TreeVolume => ({
  form: "tree",
  about: { sandboxId: state.sandboxId, driver: "namespace", form: "tree", bytes: 0, record: state.spec() },
  folder: state.folder,
  isUp: () => {
    const record = state.runtime()
    return record !== null && isUp(record)
  }
})

const namespaceVolume = async (layout: HostLayout, sandboxId: string): Promise<Volume | null> => {
  const state = layout.state(sandboxId)
  const { image, folder } = layout.volume(state)
  const record = state.runtime()
  if (image === null) return existsSync(folder) ? plainFolder(state) : null
  if (!existsSync(image)) return null
  if (record !== null && isUp(record) && !isMounted(folder)) {
    throw new ArchiveUnusable({
      message: `${sandboxId} runs, and its volume is not mounted in ${folder} as seen from here: run the backup where Atoll runs.`
    })
  }
  const { size, blocks } = await stat(image)
  return {
    form: "image",
    about: { sandboxId, driver: "namespace", form: "image", bytes: size, record: state.spec() },
    image,
    allocatedBytes: blocks * 512,
    isPaused: false,
    hold: () => holdVolume(image, folder, () => isMounted(folder))
  }
}

const machineVolume = async (dataDir: string, sandboxId: string): Promise<ImageVolume | null> => {
  const folder = new SandboxFolder(rootOf(dataDir, "qemu"), sandboxId)
  const image = folder.file("volume")
  if (!existsSync(image)) return null
  const { size, blocks } = await stat(image)
  return {
    form: "image",
    about: { sandboxId, driver: "qemu", form: "image", bytes: size, record: await folder.read() },
    image,
    allocatedBytes: blocks * 512,
    isPaused: true,
    hold: () => holdMachineVolume(folder, () => isServed(dataDir))
  }
}

export interface SnapshotImage {
  readonly about: ArchivedSnapshot
  readonly image: string
}

/** The images of these snapshots; call it after `volumesIn`, which opens the pool. One that was deleted meanwhile is left out. */
export const snapshotsIn = async (
  dataDir: string,
  snapshotIds: ReadonlySet<string>
): Promise<ReadonlyArray<SnapshotImage>> => {
  const found: Array<SnapshotImage> = []
  for (const driver of ["namespace", "qemu"] as const) {
    const store = new SnapshotStore(rootOf(dataDir, driver))
    for (const snapshotId of (await store.ids()).filter((id) => snapshotIds.has(id))) {
      const stored = await store.find(snapshotId)
      if (stored === null) continue
      const { image, record, volumeBytes: bytes } = stored
      found.push({ image, about: { snapshotId, driver, bytes, record } })
    }
  }
  return found
}

/** The volumes of these Sandboxes; a Sandbox may have none yet. */
export const volumesIn = async (dataDir: string, sandboxIds: ReadonlySet<string>): Promise<ReadonlyArray<Volume>> => {
  const found: Array<Volume | null> = []
  await openExistingPool(rootOf(dataDir, "namespace"))
  const namespaces = sandboxIdsIn(rootOf(dataDir, "namespace")).filter((id) => sandboxIds.has(id))
  if (namespaces.length > 0) {
    const layout = HostLayout.at(dataDir)
    for (const id of namespaces) found.push(await namespaceVolume(layout, id))
  }
  for (const id of sandboxIdsIn(rootOf(dataDir, "qemu")).filter((it) => sandboxIds.has(it))) {
    found.push(await machineVolume(dataDir, id))
  }
  return found.filter((it) => it !== null)
}
