/** What all Sandboxes of this host together may have: what the settings say, or a share of what the machine has. */
import { readdir } from "node:fs/promises"
import { availableParallelism, totalmem } from "node:os"
import { join } from "node:path"
import type { SettingsShape } from "../../Config.ts"
import type { HostCapacity } from "../../runtime/distant/HostDescription.ts"
import { freeDiskBytes } from "../linux/diskRoom.ts"
import { sandboxIdsIn } from "../linux/SandboxRecords.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"

/** Sandboxes wait more than they compute. */
const VCPUS_PER_PROCESSOR = 8
/** As the VM runtime's own, where ATOLL_VM_MEMORY_BYTES does not say. */
const MEMORY_SHARE = 0.85

/** A container may have less than its machine. */
const memoryBytes = (): number => {
  const bound = process.constrainedMemory()
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem()
}

/** Of the disk, what volumes and what is beside them take by now. */
const takenBytes = async (dataDir: string): Promise<number> => {
  const runtime = join(dataDir, "runtime")
  const drivers = await readdir(runtime).catch(() => [])
  let taken = 0
  for (const driver of drivers) {
    for (const sandboxId of sandboxIdsIn(join(runtime, driver))) {
      const folder = join(runtime, driver, sandboxId)
      for (const name of await readdir(folder).catch(() => [])) taken += (await allocatedBytes(join(folder, name))) ?? 0
    }
  }
  return taken
}

/** A volume counts with all of its size (`linux/diskRoom.ts`): what they may grow to together is what they have, and what is free. */
export const hostCapacity = async ({
  dataDir,
  hostVcpus,
  hostMemoryBytes,
  diskReserveBytes,
  parallelStarts
}: SettingsShape): Promise<HostCapacity> => {
  const diskBytes = (await freeDiskBytes(dataDir)) + (await takenBytes(dataDir)) - diskReserveBytes
  return {
    vcpus: hostVcpus || VCPUS_PER_PROCESSOR * availableParallelism(),
    memoryBytes: hostMemoryBytes || Math.floor(MEMORY_SHARE * memoryBytes()),
    diskBytes: Math.max(0, diskBytes),
    parallelStarts
  }
}
