/** What this driver adds to the images of its host. */
import { publicText } from "../../../schemas/PublicText.ts"
import type { HostImagesOptions } from "../image/HostImages.ts"
import type { CgroupHost } from "../linux/cgroups.ts"
import { buildObstacle } from "./buildObstacle.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { ImageMounts } from "./ImageMounts.ts"
import { imageObstacle } from "./imageObstacle.ts"
import { isShortage } from "./isShortage.ts"
import { SANDBOX_UID, SANDBOX_USER } from "./systemFiles.ts"
import type { VolumeAdmission } from "./volumeAdmission.ts"

export const imageSupport = (
  layout: HostLayout,
  mounts: ImageMounts,
  cgroups: CgroupHost,
  admission: VolumeAdmission
): Omit<HostImagesOptions, "turns" | "limits" | "run"> => ({
  root: layout.stateFolder,
  user: { name: SANDBOX_USER, uid: SANDBOX_UID },
  room: {
    take: (path, bytes) => admission.take(path, bytes),
    giveBack: (path) => admission.giveBack(path)
  },
  isShortage,
  obstacle: () => imageObstacle(layout.volumesEnforced),
  unsupported: publicText`This host runs no images: they need the service as root, loop devices, squashfs in the kernel, and squashfs-tools.`,
  buildObstacle: () => buildObstacle(cgroups.enforced.pids),
  unbuilt: publicText`This host builds no images: that needs buildah, cgroups that bound processes, and all user ids of the host.`,
  released: (digest) => mounts.unmount(digest)
})
