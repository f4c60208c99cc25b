/** A machine's cgroups, named by its uuid. QEMU and its slirp4netns share one limit, so the work that a guest causes takes nothing from others. */
import { setTimeout as sleep } from "node:timers/promises"
import { type CgroupHost, makeCgroups, removeCgroups, type SandboxCgroups, servingCgroups } from "../linux/cgroups.ts"
import { OVERHEAD_BYTES } from "./Admission.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** The share of QEMU's own threads, beside the guest's processors. */
const MORE_VCPUS = 0.5
/** Bounds threads; QEMU may start no processes. */
const PROCESSES_MAX = 512
/** A factor over the measured need. */
const OVERHEAD_FACTOR = 2
const REMOVE_TRIES = 200
const REMOVE_PAUSE_MS = 5

type Limited = Pick<MachineRecord, "uuid" | "vcpus" | "memoryBytes" | "accelerator">

/** The cgroup files that a helper process of this machine enters. */
export const cgroupsOf = (host: CgroupHost, { uuid }: Pick<MachineRecord, "uuid">): ReadonlyArray<string> =>
  servingCgroups(host, uuid)

/** Creates the cgroups, in which QEMU then starts. */
export const makeMachineCgroups = (host: CgroupHost, machine: Limited): Promise<SandboxCgroups> => {
  const { uuid, vcpus, memoryBytes, accelerator } = machine
  const limits = {
    memoryBytes: memoryBytes + OVERHEAD_FACTOR * OVERHEAD_BYTES[accelerator],
    vcpus: vcpus + MORE_VCPUS,
    processes: PROCESSES_MAX
  }
  return makeCgroups(host, uuid, limits, null)
}

/** Kills the processes in the cgroups and removes them once these have died. */
export const removeMachineCgroups = async (host: CgroupHost, uuid: string): Promise<void> => {
  for (let tries = 0; tries < REMOVE_TRIES; tries++) {
    if (await removeCgroups(host, uuid).catch(() => false)) return
    await sleep(REMOVE_PAUSE_MS)
  }
}
