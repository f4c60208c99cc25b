/**
 * Checks whether this host has room for one more machine, before anything is started or written.
 *
 * Each machine reserves all its memory, volume and root disk, used or not. So no machine can be starved by another's growth, and nothing swaps.
 */
import { readFile } from "node:fs/promises"
import { totalmem } from "node:os"
import { diskObstacle, type PromisedFile } from "../linux/diskRoom.ts"
import type { Accelerator } from "./machineArguments.ts"

/** QEMU's own memory and, under TCG, the translated code. Measured: 45 and 110 MiB. */
export const OVERHEAD_BYTES: Readonly<Record<Accelerator, number>> = { kvm: 64 * 1024 ** 2, tcg: 160 * 1024 ** 2 }
/** The share that is kept for the host when `ATOLL_VM_MEMORY_BYTES` is 0. */
const HOST_MEMORY_SHARE = 0.15

export interface Need {
  readonly memoryBytes: number
  readonly accelerator: Accelerator
  readonly files: ReadonlyArray<PromisedFile>
}

export interface Held extends Need {
  readonly running: boolean
}

export interface Limits {
  /** 0: all of the host's memory except a share for the host. */
  readonly memoryBytes: number
  readonly diskReserveBytes: number
}

const memoryOf = ({ memoryBytes, accelerator }: Need): number => memoryBytes + OVERHEAD_BYTES[accelerator]

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

const availableMemoryBytes = async (): Promise<number> =>
  Number(/^MemAvailable:\s+(\d+) kB/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1]) * 1024

/**
 * Null when there is room; otherwise one sentence for the operator. `held`: every other machine and volume of this host, including those that are
 * being started.
 */
export const obstacle = async (
  need: Need,
  held: ReadonlyArray<Held>,
  limits: Limits,
  folder: string
): Promise<string | null> => {
  const limit = limits.memoryBytes || totalmem() * (1 - HOST_MEMORY_SHARE)
  const promised = held.filter(({ running }) => running).reduce((sum, it) => sum + memoryOf(it), 0)
  if (promised + memoryOf(need) > limit) {
    return `The host's machines hold ${mebibytes(promised)} of the ${mebibytes(limit)} that they may have, and ${mebibytes(memoryOf(need))} are needed: stop a Sandbox, or raise ATOLL_VM_MEMORY_BYTES.`
  }
  const available = await availableMemoryBytes()
  if (available < memoryOf(need)) {
    return `The host has ${mebibytes(available)} of memory left, and ${mebibytes(memoryOf(need))} are needed.`
  }
  return diskObstacle({
    folder,
    held: held.flatMap(({ files }) => files),
    wanted: need.files,
    reserveBytes: limits.diskReserveBytes
  })
}
