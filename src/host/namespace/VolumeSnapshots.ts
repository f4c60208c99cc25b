/** Takes snapshots of Sandboxes' volumes, and makes the volumes of new Sandboxes from them. @see SnapshotStore */
import { existsSync } from "node:fs"
import { publicText } from "../../../schemas/PublicText.ts"
import { type CapturedSnapshot, RuntimeRefused, RuntimeUnsupported, type SnapshotImage } from "../../runtime/Runtime.ts"
import { stoppableGroup } from "../linux/cgroupFreezer.ts"
import type { CgroupHost } from "../linux/cgroups.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { letGo } from "../linux/holdMark.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { copyImage, copyVolume, flushed } from "../linux/imageCopy.ts"
import { isMounted } from "../linux/mountTable.ts"
import { hasReflinks } from "../linux/reflinks.ts"
import { capturedOf, SnapshotMissing, SnapshotStore, type StoredSnapshot } from "../linux/SnapshotStore.ts"
import { VolumeMissing } from "../linux/VolumeRegister.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { SandboxRecord, SandboxState } from "./SandboxState.ts"
import { canCopyStanding, standingCopy } from "./standingCopy.ts"
import type { VolumeAdmission } from "./volumeAdmission.ts"
import { holdVolume } from "./volumeHold.ts"

/** A Sandbox with much unwritten data writes at the speed of the disk. */
const FLUSH_TIMEOUT_MS = 300_000

const noImages = () =>
  new RuntimeUnsupported({
    message:
      "This host takes no snapshots: its volumes are plain folders, because the service is not root or has no loop devices."
  })

/** Another Sandbox could neither use nor remove the files of its many users. */
const ofBuild = () =>
  new RuntimeRefused({
    code: "SNAPSHOT_UNUSABLE",
    message: publicText`A Sandbox that builds an image has no snapshots and no forks: its files have users that no other Sandbox has.`
  })

/** What the record of a Sandbox says of a volume that is a copy. It may share all its blocks with the snapshot until it is known that it does not. */
export const copiedFrom = ({
  record,
  storedBytes
}: StoredSnapshot): Pick<SandboxRecord, "filesOf" | "sharedBytes"> => ({
  ...(record.owner === null ? {} : { filesOf: record.owner }),
  sharedBytes: storedBytes
})

interface Copied {
  readonly isShared: boolean
  readonly pausedMs: number
}

export class VolumeSnapshots {
  readonly #store: SnapshotStore
  readonly #layout: HostLayout
  readonly #turns: HostMutex
  readonly #admission: VolumeAdmission
  readonly #cgroups: CgroupHost
  /** Whether its file system has reflinks; null until a capture has asked. */
  #sharesBlocks: boolean | null = null

  constructor(
    store: SnapshotStore,
    layout: HostLayout,
    cgroups: CgroupHost,
    turns: HostMutex,
    admission: VolumeAdmission
  ) {
    this.#store = store
    this.#layout = layout
    this.#cgroups = cgroups
    this.#turns = turns
    this.#admission = admission
  }

  /** Rejects with RuntimeUnsupported, VolumeMissing or a shortage. */
  capture(snapshotId: string, sandboxId: string): Promise<CapturedSnapshot> {
    return this.#turns.pass(SnapshotStore.keyOf(snapshotId), async () => {
      const present = await this.#store.find(snapshotId)
      if (present !== null) return capturedOf(present)
      // Of an earlier attempt.
      await this.#store.removeUnfinished(snapshotId)
      const state = this.#layout.state(sandboxId)
      const { image, folder } = this.#layout.volume(state)
      if (image === null) throw noImages()
      if (state.spec()?.builder === true) throw ofBuild()
      const before = await this.#sizeOf(sandboxId, image)
      const partial = await this.#store.begin(snapshotId)
      // Here nothing waits for it: neither the Sandbox's writers, nor its stop.
      const flushing = isMounted(folder)
        ? hostCommand(["sync", "-f", folder], null, { timeoutMs: FLUSH_TIMEOUT_MS })
        : null
      try {
        await this.#admission.copy(partial, before, async () => {
          await flushing
          await this.#admission.take(partial, await this.#sizeOf(sandboxId, image))
          const { isShared, pausedMs } = await this.#copied(sandboxId, partial)
          const spec = state.spec()
          await this.#store.complete(snapshotId, partial, {
            pausedMs,
            sharedBytes: isShared ? ((await allocatedBytes(partial)) ?? 0) : 0,
            owner: spec?.filesOf ?? spec?.uid ?? null
          })
        })
      } catch (cause) {
        await this.#store.remove(snapshotId).catch(() => {})
        throw cause
      }
      const made = await this.#store.find(snapshotId)
      if (made === null) throw new Error(`snapshot ${snapshotId} was removed while it was made`)
      return capturedOf(made)
    })
  }

  /**
   * Replaces the volume of a Sandbox that does not run. See `Snapshots.restore`. A crash in between leaves the one volume or the other, and the repeated
   * call makes it whole, with its record. Rejects with RuntimeUnsupported, SnapshotMissing, VolumeMissing or a shortage.
   */
  restore(snapshotId: string, sandboxId: string, generation: number): Promise<void> {
    return this.#turns.pass(SnapshotStore.keyOf(snapshotId), () =>
      this.#turns.pass(sandboxId, async () => {
        const state = this.#layout.state(sandboxId)
        const known = state.spec()
        const runtime = state.runtime()
        if ((known?.restoredAfter ?? -1) >= generation || (runtime?.generation ?? -1) > generation) return
        const { image, folder } = this.#layout.volume(state)
        if (image === null) throw noImages()
        if (known === null || !existsSync(image)) throw new VolumeMissing(`the volume of ${sandboxId} is missing`)
        const origin = await this.#store.find(snapshotId)
        if (origin === null) throw new SnapshotMissing(`snapshot ${snapshotId} is not in ${this.#store.folder}`)
        if (runtime !== null || isMounted(folder)) throw new Error(`Sandbox ${sandboxId} still runs`)
        await letGo(image)
        await this.#replace(state, known, origin, generation)
      })
    )
  }

  async #replace(state: SandboxState, known: SandboxRecord, origin: StoredSnapshot, generation: number): Promise<void> {
    const volumeBytes = Math.max(known.volumeBytes, origin.sizeBytes)
    await this.#admission.volume(known, state, { ...known, volumeBytes })
    const image = this.#layout.volume(state).image!
    const isShared = await this.#admission.copy(`${image}.partial`, origin.storedBytes, () =>
      copyVolume(origin.image, image, null)
    )
    await flushed(state.folder)
    const { sharedBytes, ...copied } = copiedFrom(origin)
    const { filesOf: _, ...record } = known
    await state.writeSpec({
      ...record,
      volumeBytes,
      ...copied,
      sharedBytes: isShared ? (sharedBytes ?? 0) : 0,
      restoredAfter: generation
    })
  }

  remove(snapshotId: string): Promise<void> {
    return this.#turns.pass(SnapshotStore.keyOf(snapshotId), () => this.#store.remove(snapshotId))
  }

  /** Rejects with SnapshotMissing. */
  read(snapshotId: string): Promise<SnapshotImage> {
    return this.#store.image(snapshotId)
  }

  /** Its whole size is admitted, as that of each Sandbox that will be made of it. Rejects with RuntimeUnsupported or a shortage. */
  async receive(snapshotId: string, image: SnapshotImage): Promise<void> {
    if (!this.#layout.volumesEnforced) throw noImages()
    const path = this.#store.receivingPath(snapshotId)
    await this.#turns.pass(SnapshotStore.keyOf(snapshotId), () =>
      this.#admission.copy(path, image.sizeBytes, () => this.#store.receive(snapshotId, image))
    )
  }

  /** Rejects with SnapshotMissing or ImageUnusable. */
  accept(snapshotId: string): Promise<CapturedSnapshot> {
    return this.#turns.pass(SnapshotStore.keyOf(snapshotId), async () =>
      capturedOf(await this.#store.accept(snapshotId, true))
    )
  }

  inventory(): Promise<ReadonlyArray<string>> {
    return this.#store.ids()
  }

  /** Removes what killed processes left unfinished. */
  tidy(): Promise<void> {
    return this.#store.tidy(this.#turns)
  }

  /** The snapshot of which the Sandbox's volume is to be made; null when it has or had a volume, or starts empty. Rejects with SnapshotMissing. */
  async originOf(state: SandboxState, snapshotId: string | undefined): Promise<StoredSnapshot | null> {
    if (snapshotId === undefined) return null
    const { image, folder } = this.#layout.volume(state)
    if (existsSync(image ?? folder) || this.#layout.volumes.isMissing(state.sandboxId, () => false)) return null
    const origin = await this.#store.find(snapshotId)
    if (origin === null) throw new SnapshotMissing(`snapshot ${snapshotId} is not in ${this.#store.folder}`)
    return origin
  }

  /** Makes the volume. Resolves with whether it shares its blocks with the snapshot. */
  async copyTo(state: SandboxState, origin: StoredSnapshot): Promise<boolean> {
    const { image } = this.#layout.volume(state)
    if (image === null) throw noImages()
    return await copyVolume(origin.image, image, null)
  }

  async #sizeOf(sandboxId: string, image: string): Promise<number> {
    const bytes = await allocatedBytes(image)
    if (bytes === null) throw new VolumeMissing(`the volume of ${sandboxId} is missing`)
    return bytes
  }

  /** In the Sandbox's turn: its volume is neither opened, closed nor removed meanwhile. */
  #copied(sandboxId: string, partial: string): Promise<Copied> {
    return this.#turns.pass(sandboxId, async () => {
      // Its folder has another name once a spare became this Sandbox.
      const state = this.#layout.state(sandboxId)
      const { image, folder } = this.#layout.volume(state)
      if (image === null) throw noImages()
      await this.#sizeOf(sandboxId, image)
      const group = await this.#groupOf(state)
      const copied = group === null ? null : await standingCopy({ image, folder }, group, partial)
      if (copied !== null) return { isShared: true, ...copied }
      const held = await holdVolume(image, folder, () => isMounted(folder))
      let isShared: boolean
      try {
        isShared = await copyImage(image, partial)
        if (!(await held.isStill())) throw new Error(`the volume of ${sandboxId} was started while it was copied`)
      } finally {
        await held.letGo()
      }
      return { isShared, pausedMs: held.frozenAt === null ? 0 : performance.now() - held.frozenAt }
    })
  }

  /** Null: its volume is frozen for a copy. Without reflinks a copy takes long, and only writers should wait for it. */
  async #groupOf(state: SandboxState): Promise<string | null> {
    const init = state.runtime()?.init ?? null
    if (!canCopyStanding || init === null) return null
    this.#sharesBlocks ??= await hasReflinks(this.#store.folder)
    return this.#sharesBlocks === true
      ? stoppableGroup(this.#cgroups, this.#layout.nameOf(state.sandboxId), init)
      : null
  }
}
