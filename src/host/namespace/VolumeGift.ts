/**
 * Gives a Sandbox that was started ahead another volume, while it has no owner yet.
 *
 * Its own volume leaves the host's mount point, the image gets the new content, and the new volume's folders replace the old ones in the Sandbox, in which
 * nothing holds the old volume: the working directories there are the root, and its console is elsewhere (`ownConsole.ts`). A crash at any point leaves a
 * spare without an owner, which is ended with all that it has.
 */
import { closeSync, constants, existsSync, fstatSync, openSync, statSync } from "node:fs"
import { type FileHandle, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { waitForAll } from "../../platform/concurrency/waitForAll.ts"
import { type CgroupHost, servingCgroups } from "../linux/cgroups.ts"
import { mustRun } from "../linux/hostCommand.ts"
import { isAlive, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import type { StoredSnapshot } from "../linux/SnapshotStore.ts"
import type { BlankVolumes } from "./BlankVolumes.ts"
import type { HostLayout } from "./HostLayout.ts"
import { removeConsoles } from "./removeConsoles.ts"
import type { SandboxRecord, SandboxState } from "./SandboxState.ts"
import { copiedFrom, type VolumeSnapshots } from "./VolumeSnapshots.ts"
import { freshTemporary, openVolume, temporaryOf, type VolumePlace, workspaceOf } from "./volume.ts"
import type { VolumeAdmission } from "./volumeAdmission.ts"

/** @see ../linux/native/givevolume.c */
const PROGRAM = fileURLToPath(new URL("../linux/native/givevolume.x64", import.meta.url))

export const canGiveVolumes = process.arch === "x64" && existsSync(PROGRAM)

export interface GiftOptions {
  readonly layout: HostLayout
  readonly cgroups: CgroupHost
  readonly admission: VolumeAdmission
  readonly snapshots: VolumeSnapshots
  readonly blanks: BlankVolumes
  /** Of the spare. */
  readonly state: SandboxState
  readonly init: ProcessIdentity
  readonly volumeBytes: number
  /** Null: the volume is empty. */
  readonly origin: StoredSnapshot | null
}

/** A method a step, so that a test can end the service at each. */
export class VolumeGift {
  readonly #options: GiftOptions
  readonly #place: VolumePlace
  readonly #image: string
  readonly #known: SandboxRecord
  /** Keeps the old file system: its end waits for the disk, and the Sandbox need not. */
  #old: FileHandle | null = null

  constructor(options: GiftOptions) {
    const { layout, state } = options
    const known = state.spec()
    const place = layout.volume(state)
    if (known === null || place.image === null) throw new Error("its volume is no image")
    this.#options = options
    this.#place = place
    this.#image = place.image
    this.#known = known
  }

  /** Rejects with a shortage, or when the spare cannot be used any more. */
  async give(): Promise<void> {
    try {
      const [record] = await waitForAll(this.admit(), this.leave())
      await this.open(await this.make(record))
      await this.enter()
    } finally {
      void this.#old?.close().catch(() => {})
    }
  }

  /** Records what the new volume is, and takes its room. */
  async admit(): Promise<SandboxRecord> {
    const { admission, state, volumeBytes, origin } = this.#options
    const bytes = Math.max(volumeBytes, origin?.sizeBytes ?? 0)
    const record = { ...this.#known, volumeBytes: bytes, ...(origin === null ? {} : copiedFrom(origin)) }
    await admission.volume(this.#known, state, record)
    return record
  }

  /** Takes the old volume from the host's mount point. */
  async leave(): Promise<void> {
    this.#old = await open(this.#place.folder, constants.O_RDONLY | constants.O_DIRECTORY)
    await mustRun(["umount", "-l", this.#place.folder])
    await rm(this.#image)
  }

  /** Makes the new image, unless the opening does. */
  async make(record: SandboxRecord): Promise<SandboxRecord> {
    const { snapshots, blanks, state, origin } = this.#options
    if (origin === null) await blanks.take(record.volumeBytes, this.#image)
    if (origin === null || (await snapshots.copyTo(state, origin))) return record
    const own = { ...record, sharedBytes: 0 }
    await state.writeSpec(own)
    return own
  }

  /** Mounts it as a boot does. */
  async open(record: SandboxRecord): Promise<void> {
    const { layout, cgroups, state } = this.#options
    const { uid, volumeBytes, filesOf } = record
    const onDisk = await openVolume(this.#place, volumeBytes, uid, filesOf)
    if (filesOf !== undefined && onDisk !== null && onDisk !== filesOf) {
      await state.writeSpec({ ...record, filesOf: onDisk })
    }
    await freshTemporary(this.#place, uid, servingCgroups(cgroups, layout.nameOf(state.sandboxId)))
    await removeConsoles(this.#place.folder)
  }

  /** Puts it into the Sandbox, and looks there whether it is the one. */
  async enter(): Promise<void> {
    const { init } = this.#options
    const { folder } = this.#place
    await mountedInside(init, workspaceOf(this.#place), temporaryOf(this.#place))
    for (const name of ["workspace", "tmp"]) {
      const [inside, own] = [statSync(`/proc/${init.pid}/root/${name}`), statSync(join(folder, name))]
      if (inside.dev !== own.dev || inside.ino !== own.ino) throw new Error(`/${name} is not on the new volume`)
    }
    if (!isAlive(init)) throw new Error("it has ended")
  }
}

/** Opens the mount namespace first: the open descriptor cannot change its meaning. */
const mountedInside = async (init: ProcessIdentity, workspace: string, temporary: string): Promise<void> => {
  const namespace = openSync(`/proc/${init.pid}/ns/mnt`, "r")
  try {
    if (!isAlive(init) || fstatSync(namespace).ino === statSync("/proc/self/ns/mnt").ino) {
      throw new Error("it shares the mounts of the host")
    }
    const input = [`/proc/${process.pid}/fd/${namespace}`, workspace, temporary].map((it) => `${it}\0`).join("")
    await mustRun([PROGRAM], input)
  } finally {
    closeSync(namespace)
  }
}
