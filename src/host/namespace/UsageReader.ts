/**
 * Reads what a running Sandbox uses, as the kernel counts it.
 *
 * A thousand idle Sandboxes are read every few seconds. A change of memory, volume or network takes processor time of the Sandbox's processes or of its
 * slirp4netns. So while that count stands still, the last read's other counts hold. The kernel may still reclaim memory by itself, so every eighth read
 * of an idle Sandbox reads all.
 */
import type { ResourceSample } from "../../runtime/Runtime.ts"
import { type CgroupHost, cgroupCpuSeconds, cgroupMemoryBytes } from "../linux/cgroups.ts"
import { networkBytes } from "../linux/networkBytes.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { RuntimeRecord } from "./SandboxState.ts"
import { type VolumePlace, volumeUsedBytes } from "./volume.ts"

/** Two minutes, with the default interval of telemetry. */
const WHOLE_EVERY_READS = 8

export class UsageReader {
  #last: ResourceSample | null = null
  #readsLeft = 0

  /** Null until its agent has answered. */
  read(
    layout: Pick<HostLayout, "nameOf">,
    cgroups: CgroupHost,
    sandboxId: string,
    { init, networkEnabled }: RuntimeRecord,
    volume: VolumePlace
  ): ResourceSample | null {
    if (init === null) return null
    const name = layout.nameOf(sandboxId)
    const cpuSeconds = cgroupCpuSeconds(cgroups, name)
    const stoodStill = cpuSeconds !== null && cpuSeconds === this.#last?.cpuSeconds
    if (stoodStill && --this.#readsLeft > 0) return this.#last
    this.#readsLeft = WHOLE_EVERY_READS
    const network = networkEnabled ? networkBytes(init.pid) : null
    this.#last = {
      cpuSeconds,
      memoryBytes: cgroupMemoryBytes(cgroups, name),
      volumeBytes: volumeUsedBytes(volume),
      networkRxBytes: network?.received ?? null,
      networkTxBytes: network?.sent ?? null
    }
    return this.#last
  }
}
