/**
 * Whether this host has room for one more machine: asked before anything is started or written.
 *
 * A machine is promised all its memory, all of its volume and all of its root disk, whether it uses them or not, so no machine can be starved by
 * another's growth and nothing swaps.
 */
import { readFile } from "node:fs/promises"
import { totalmem } from "node:os"
import { diskObstacle, type PromisedFile } from "../linux/diskRoom.ts"
import type { Accelerator } from "./machineArguments.ts"

/** QEMU's own memory, and under TCG the translated code. Measured: 45 and 110 MiB. */
export const OVERHEAD_BYTES: Readonly<Record<Accelerator, number>> = { kvm: 64 * 1024 ** 2, tcg: 160 * 1024 ** 2 }
/** Kept for the host when `ATOLL_VM_MEMORY_BYTES` does not say. */
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
  /** 0: all of the host's memory but a share for the host. */
  readonly memoryBytes: number
  readonly diskReserveBytes: number
}

const memoryOf = ({ memoryBytes, accelerator }: Need): number => memoryBytes + OVERHEAD_BYTES[accelerator]

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

const availableMemoryBytes = async (): Promise<number> =>
  Number(/^MemAvailable:\s+(\d+) kB/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1]) * 1024

/**
 * Null when there is room, else one sentence for the operator. `held`: every machine and volume of this host but the one that asks, those that
 * are being started included.
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
