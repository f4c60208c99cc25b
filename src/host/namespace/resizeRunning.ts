/** Gives a running Sandbox other sizes: the limits of its cgroups, and a larger volume under its mount. */
import type { RuntimeSizes } from "../../runtime/Runtime.ts"
import { type CgroupHost, resizeCgroups } from "../linux/cgroups.ts"
import { hostCommand, mustRun } from "../linux/hostCommand.ts"
import { isMounted, mountedDevice } from "../linux/mountTable.ts"
import { growVolumeFile } from "../linux/volumeImage.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { SandboxState } from "./SandboxState.ts"
import type { VolumeAdmission } from "./volumeAdmission.ts"

export interface Resizing {
  readonly layout: HostLayout
  readonly cgroups: CgroupHost
  readonly admission: VolumeAdmission
}

/** While it is mounted. Where that is refused, the next boot grows it before its mount. */
const growMounted = async ({ layout, admission }: Resizing, state: SandboxState, bytes: number): Promise<void> => {
  const place = layout.volume(state)
  const known = state.spec()
  if (place.image === null || known === null || !isMounted(place.folder)) return
  if (known.volumeBytes < bytes) await admission.volume(known, state, { ...known, volumeBytes: bytes })
  await growVolumeFile(place.image, bytes, async () => {
    const device = mountedDevice(place.folder)
    if (device === null) throw new Error(`${place.folder} has no device`)
    await mustRun(["losetup", "--set-capacity", device])
    // Some kernels and containers refuse that for a mounted file system.
    return (await hostCommand(["resize2fs", device])).code === 0
  })
}

export const resizeRunning = async (host: Resizing, state: SandboxState, sizes: RuntimeSizes): Promise<void> => {
  await resizeCgroups(host.cgroups, host.layout.nameOf(state.sandboxId), sizes)
  await growMounted(host, state, sizes.volumeBytes)
}
