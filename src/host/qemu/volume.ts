/** A machine's volume: a disk of its own, whose file system is the guest's `/workspace`, owned by the guest's user and empty at first. */
import { ensureVolumeImage } from "../linux/volumeImage.ts"
import { recipe } from "./image/recipe.ts"

/** Does nothing when it is there. `uid`: QEMU's user on the host. */
export const ensureVolume = (path: string, bytes: number, uid: number | null): Promise<void> => {
  const { uid: owner, gid } = recipe.user
  return ensureVolumeImage({ path, bytes, owner: uid, extended: [`root_owner=${owner}:${gid}`], isEmpty: true })
}
