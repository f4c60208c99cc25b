/** Why this host cannot give a Sandbox an image as its root. */
import { readFileSync } from "node:fs"
import type { ImageObstacle } from "../image/HostImages.ts"
import { hostCommand } from "../linux/hostCommand.ts"
import { missingPackages } from "../linux/programs.ts"

const isKnown = (): boolean => /\tsquashfs$/m.test(readFileSync("/proc/filesystems", "latin1"))

/** Null when it can. @param mountsImages Whether volumes are images: the service is root and has loop devices. */
export const imageObstacle = async (mountsImages: boolean): Promise<ImageObstacle | null> => {
  if (!mountsImages) {
    return {
      found: "Namespace Sandboxes have no images as their root, because this host mounts none.",
      mend: "Start Atoll as root, with loop devices."
    }
  }
  const packages = missingPackages({ mksquashfs: "squashfs-tools" })
  if (packages.length > 0) {
    return { found: "No image can be unpacked.", mend: `apt-get install ${packages.join(" ")}` }
  }
  return isKnown() || ((await hostCommand(["modprobe", "squashfs"])).code === 0 && isKnown())
    ? null
    : {
        found: "This kernel has no squashfs, as which images are mounted.",
        mend: "modprobe squashfs, or boot another kernel."
      }
}
