import { setTimeout as sleep } from "node:timers/promises"
import { Semaphore } from "../../platform/concurrency/Semaphore.ts"
import { diskObstacle, type PromisedFile } from "../linux/diskRoom.ts"
import type { HostUsers } from "../linux/HostUsers.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import type { SnapshotStore } from "../linux/SnapshotStore.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { SandboxRecord, SandboxState } from "./SandboxState.ts"

/** The disk has no room for another volume. The message is one sentence for the operator. */
export class DiskPromised extends Error {}

/** What was deleted in a pool reaches its disk a moment after the pool has written its log. */
const FREED_TRIES = 5
const FREED_WAIT_MS = 50

/**
 * Checks that the disk has room for the full size of every volume image and snapshot, and of one more. One check at a time: two must not both take
 * the last room.
 */
export class VolumeAdmission {
  readonly #layout: HostLayout
  readonly #users: HostUsers
  readonly #snapshots: SnapshotStore
  readonly #reserveBytes: number
  readonly #checks = new Semaphore(1)
  /** Files that are being written, with the sizes that they get. */
  readonly #copies = new Map<string, number>()

  constructor(layout: HostLayout, users: HostUsers, snapshots: SnapshotStore, reserveBytes: number) {
    this.#layout = layout
    this.#users = users
    this.#snapshots = snapshots
    this.#reserveBytes = reserveBytes
  }

  /**
   * Records the Sandbox, whose volume's room is taken from then on. Rejects with DiskPromised, and then frees the user id of a new one.
   *
   * @param known What was recorded of it, and whose room is taken already; null: it is new.
   */
  volume(known: SandboxRecord | null, state: SandboxState, record: SandboxRecord): Promise<void> {
    return this.#checks.run(async () => {
      const more = record.volumeBytes - (known?.volumeBytes ?? 0)
      try {
        if (known === null || more > 0) await this.#check(more)
      } catch (cause) {
        if (cause instanceof DiskPromised && known === null) await this.#users.release(record.uid, state.sandboxId)
        throw cause
      }
      await state.writeSpec(record)
    })
  }

  /** Runs `copy`, which writes that many bytes to `path`. Rejects with DiskPromised. */
  async copy<A>(path: string, bytes: number, copy: () => Promise<A>): Promise<A> {
    await this.#checks.run(async () => {
      await this.#check(bytes)
      this.#copies.set(path, bytes)
    })
    try {
      return await copy()
    } finally {
      this.#copies.delete(path)
    }
  }

  /** Takes room for a file that grows to that many bytes, until `giveBack`. Rejects with DiskPromised; what was taken before stays taken. */
  take(path: string, bytes: number): Promise<void> {
    return this.#checks.run(async () => {
      const more = bytes - (this.#copies.get(path) ?? 0)
      if (more <= 0) return
      await this.#check(more)
      this.#copies.set(path, bytes)
    })
  }

  giveBack(path: string): void {
    this.#copies.delete(path)
  }

  async #check(bytes: number): Promise<void> {
    if (!this.#layout.volumesEnforced) return
    const held = [...(await this.#volumes()), ...(await this.#snapshots.promised()), ...(await this.#unfinished())]
    const { stateFolder: folder, pool } = this.#layout
    const wanted = [{ bytes, allocatedBytes: 0 }]
    const ask = () => diskObstacle({ folder, held, wanted, reserveBytes: this.#reserveBytes, pool })
    let obstacle = await ask()
    for (let tries = 0; obstacle !== null && pool !== null && tries < FREED_TRIES; tries++) {
      await hostCommand(["sync", "--file-system", folder])
      await sleep(FREED_WAIT_MS)
      obstacle = await ask()
    }
    if (obstacle !== null) throw new DiskPromised(obstacle)
  }

  #volumes(): Promise<ReadonlyArray<PromisedFile>> {
    return Promise.all(
      [...this.#layout.sandboxIds(), ...this.#layout.spareNames()].map(async (id) => {
        const state = this.#layout.state(id)
        const { image } = this.#layout.volume(state)
        if (image === null) return { bytes: 0, allocatedBytes: 0 }
        const spec = state.spec()
        const allocated = ((await allocatedBytes(image)) ?? 0) - (spec?.sharedBytes ?? 0)
        return { bytes: spec?.volumeBytes ?? 0, allocatedBytes: Math.max(0, allocated) }
      })
    )
  }

  #unfinished(): Promise<ReadonlyArray<PromisedFile>> {
    return Promise.all(
      [...this.#copies].map(async ([path, bytes]) => ({ bytes, allocatedBytes: (await allocatedBytes(path)) ?? 0 }))
    )
  }
}
