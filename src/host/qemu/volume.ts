/** A machine's volume: a separate disk, whose file system is the guest's `/workspace`. The guest's user owns it, and it is empty at first. */
import { ensureVolumeImage, growVolumeImage } from "../linux/volumeImage.ts"
import { recipe } from "./image/recipe.ts"

/** Creates the volume if it is missing, and grows one that is smaller. `uid`: QEMU's user on the host. */
export const ensureVolume = async (path: string, bytes: number, uid: number | null): Promise<void> => {
  const { uid: owner, gid } = recipe.user
  await ensureVolumeImage({ path, bytes, owner: uid, extended: [`root_owner=${owner}:${gid}`], isEmpty: true })
  await growVolumeImage(path, bytes, uid)
}
