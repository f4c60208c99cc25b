import { setTimeout as sleep } from "node:timers/promises"
import { diskObstacle } from "../linux/diskRoom.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import type { HostLayout } from "./HostLayout.ts"

/** The disk has no room for another volume. The message is one sentence for the operator. */
export class DiskPromised extends Error {}

/** What was deleted in a pool reaches its disk a moment after the pool has written its log. */
const FREED_TRIES = 5
const FREED_WAIT_MS = 50

/** Checks that the disk has room for the full size of every volume image and of one more. Rejects with DiskPromised. */
export const admitVolume = async (layout: HostLayout, volumeBytes: number, reserveBytes: number): Promise<void> => {
  if (!layout.volumesEnforced) return
  const held = await Promise.all(
    [...layout.sandboxIds(), ...layout.spareNames()].map(async (id) => {
      const state = layout.state(id)
      const { image } = layout.volume(state)
      const bytes = image === null ? 0 : (state.spec()?.volumeBytes ?? 0)
      return { bytes, allocatedBytes: image === null ? 0 : ((await allocatedBytes(image)) ?? 0) }
    })
  )
  const { stateFolder: folder, pool } = layout
  const ask = () =>
    diskObstacle({ folder, held, wanted: [{ bytes: volumeBytes, allocatedBytes: 0 }], reserveBytes, pool })
  let obstacle = await ask()
  for (let tries = 0; obstacle !== null && pool !== null && tries < FREED_TRIES; tries++) {
    await hostCommand(["sync", "--file-system", folder])
    await sleep(FREED_WAIT_MS)
    obstacle = await ask()
  }
  if (obstacle !== null) throw new DiskPromised(obstacle)
}
