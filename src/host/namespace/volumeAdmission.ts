import { diskObstacle } from "../linux/diskRoom.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import type { HostLayout } from "./HostLayout.ts"

/** The disk has no room for another volume. The message is one sentence for the operator. */
export class DiskPromised extends Error {}

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
  const obstacle = await diskObstacle({
    folder: layout.stateFolder,
    held,
    wanted: [{ bytes: volumeBytes, allocatedBytes: 0 }],
    reserveBytes
  })
  if (obstacle !== null) throw new DiskPromised(obstacle)
}
