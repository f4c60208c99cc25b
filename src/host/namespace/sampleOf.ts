/** What a running Sandbox uses, as the kernel counts it. */
import type { ResourceSample } from "../../runtime/Runtime.ts"
import { type CgroupHost, cgroupCpuSeconds, cgroupMemoryBytes } from "../linux/cgroups.ts"
import { networkBytes } from "../linux/networkBytes.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { RuntimeRecord } from "./SandboxState.ts"
import { type VolumePlace, volumeUsedBytes } from "./volume.ts"

/** Null until its agent has answered. */
export const sampleOf = (
  layout: HostLayout,
  cgroups: CgroupHost,
  sandboxId: string,
  { init, networkEnabled }: RuntimeRecord,
  volume: VolumePlace
): ResourceSample | null => {
  if (init === null) return null
  const name = layout.nameOf(sandboxId)
  const network = networkEnabled ? networkBytes(init.pid) : null
  return {
    cpuSeconds: cgroupCpuSeconds(cgroups, name),
    memoryBytes: cgroupMemoryBytes(cgroups, name),
    volumeBytes: volumeUsedBytes(volume),
    networkRxBytes: network?.received ?? null,
    networkTxBytes: network?.sent ?? null
  }
}
