/** The capacity for all Sandboxes of this host together: from the settings, or a share of the machine. */
import { readdir } from "node:fs/promises"
import { availableParallelism, totalmem } from "node:os"
import { join } from "node:path"
import type { SettingsShape } from "../../Config.ts"
import type { HostCapacity } from "../../runtime/distant/HostDescription.ts"
import { freeDiskBytes, freePoolBytes } from "../linux/diskRoom.ts"
import { sandboxIdsIn } from "../linux/SandboxRecords.ts"
import { allocatedBytes } from "../linux/volumeImage.ts"
import { existingPool, isPoolClosed, pooledFolder } from "../linux/volumePool.ts"

/** Sandboxes wait more than they compute, so vCPUs are overcommitted. */
const VCPUS_PER_PROCESSOR = 8
/** The same share as in the VM runtime where ATOLL_VM_MEMORY_BYTES is 0. */
const MEMORY_SHARE = 0.85

/** A container may have a smaller limit than its machine. */
const memoryBytes = (): number => {
  const bound = process.constrainedMemory()
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem()
}

/** Disk space that volumes and the files beside them take now. */
const takenBytes = async (dataDir: string): Promise<number> => {
  const runtime = join(dataDir, "runtime")
  const drivers = (await readdir(runtime).catch(() => [])).filter((name) => !name.startsWith("."))
  let taken = 0
  for (const driver of drivers) {
    for (const sandboxId of sandboxIdsIn(join(runtime, driver))) {
      const folder = join(runtime, driver, sandboxId)
      for (const name of await readdir(folder).catch(() => [])) taken += (await allocatedBytes(join(folder, name))) ?? 0
    }
  }
  return taken
}

const freeBytes = async (dataDir: string, takenBytes: number): Promise<number> => {
  const folder = pooledFolder(dataDir)
  const pool = isPoolClosed(folder) ? null : existingPool(folder)
  return pool === null ? freeDiskBytes(dataDir) : freePoolBytes(folder, pool, takenBytes)
}

/** A volume counts with its full size (`linux/diskRoom.ts`). The capacity is therefore what the volumes take now plus the free space. */
export const hostCapacity = async ({
  dataDir,
  hostVcpus,
  hostMemoryBytes,
  diskReserveBytes,
  parallelStarts
}: SettingsShape): Promise<HostCapacity> => {
  const taken = await takenBytes(dataDir)
  const diskBytes = (await freeBytes(dataDir, taken)) + taken - diskReserveBytes
  return {
    vcpus: hostVcpus || VCPUS_PER_PROCESSOR * availableParallelism(),
    memoryBytes: hostMemoryBytes || Math.floor(MEMORY_SHARE * memoryBytes()),
    diskBytes: Math.max(0, diskBytes),
    parallelStarts
  }
}
