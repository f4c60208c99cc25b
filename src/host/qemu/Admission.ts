/**
 * Whether this host has room for one more machine: asked before anything is started or written.
 *
 * A machine is promised all its memory and all of its volume, whether it uses them or not, so no machine can be starved by another's growth
 * and nothing swaps.
 */
import { readFile, statfs } from "node:fs/promises"
import { totalmem } from "node:os"
import { RuntimeRefused } from "../../runtime/Runtime.ts"
import type { Accelerator } from "./machineArguments.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** QEMU's own memory, and under TCG the translated code. Measured: 45 and 110 MiB. */
const OVERHEAD_BYTES: Readonly<Record<Accelerator, number>> = { kvm: 64 * 1024 ** 2, tcg: 160 * 1024 ** 2 }
/** What a guest may write outside its volume before the host takes notice. */
const ROOT_OVERLAY_BYTES = 256 * 1024 ** 2
/** Kept for the host when `ATOLL_VM_MEMORY_BYTES` does not say. */
const HOST_MEMORY_SHARE = 0.15

export interface Need {
  readonly memoryBytes: number
  readonly volumeBytes: number
  readonly accelerator: Accelerator
}

export interface Held extends Need {
  readonly running: boolean
  /** What of the volume is on the disk by now. */
  readonly allocatedBytes: number
}

export interface Limits {
  /** 0: all of the host's memory but a share for the host. */
  readonly memoryBytes: number
  readonly diskReserveBytes: number
}

const memoryOf = ({ memoryBytes, accelerator }: Need): number => memoryBytes + OVERHEAD_BYTES[accelerator]

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`

const full = (message: string): RuntimeRefused => new RuntimeRefused({ code: "HOST_FULL", message })

const availableMemoryBytes = async (): Promise<number> =>
  Number(/^MemAvailable:\s+(\d+) kB/m.exec(await readFile("/proc/meminfo", "utf8"))?.[1]) * 1024

const freeDiskBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** Null when there is room. `held`: every machine and volume of this host but the one that asks, those that are being started included. */
export const refusal = async (
  need: Need & { readonly newVolume: boolean },
  held: ReadonlyArray<Held>,
  limits: Limits,
  folder: string
): Promise<RuntimeRefused | null> => {
  const limit = limits.memoryBytes || totalmem() * (1 - HOST_MEMORY_SHARE)
  const promised = held.filter(({ running }) => running).reduce((sum, it) => sum + memoryOf(it), 0)
  if (promised + memoryOf(need) > limit) {
    return full(
      `The host's machines hold ${mebibytes(promised)} of the ${mebibytes(limit)} that they may have, and ${mebibytes(memoryOf(need))} are needed: stop a Sandbox, or raise ATOLL_VM_MEMORY_BYTES.`
    )
  }
  const available = await availableMemoryBytes()
  if (available < memoryOf(need)) {
    return full(`The host has ${mebibytes(available)} of memory left, and ${mebibytes(memoryOf(need))} are needed.`)
  }
  const free = await freeDiskBytes(folder)
  const owed = held.reduce((sum, it) => sum + Math.max(0, it.volumeBytes - it.allocatedBytes), 0)
  const wanted = (need.newVolume ? need.volumeBytes : 0) + ROOT_OVERLAY_BYTES
  if (free - owed - wanted < limits.diskReserveBytes) {
    return full(
      `The host has ${mebibytes(free)} of disk left, of which ${mebibytes(owed)} are promised to volumes, and ${mebibytes(wanted)} are needed: delete a Sandbox, or give ATOLL_DATA_DIR more room.`
    )
  }
  return null
}

export const heldBy = (record: MachineRecord, running: boolean, allocatedBytes: number): Held => ({
  memoryBytes: record.memoryBytes,
  volumeBytes: record.volumeBytes,
  accelerator: record.accelerator,
  running,
  allocatedBytes
})
