/**
 * The cgroups of a machine, named by its uuid: QEMU and the slirp4netns that serves it share one bound, so what a guest makes them do takes nothing
 * from others.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { type CgroupHost, enterCgroups, makeCgroups, removeCgroups, servingCgroups } from "../linux/cgroups.ts"
import { OVERHEAD_BYTES } from "./Admission.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** For QEMU's own threads, beside the guest's processors. */
const MORE_VCPUS = 0.5
/** Threads; it may start no processes. */
const PROCESSES_MAX = 512
/** Over what it was measured to need. */
const OVERHEAD_FACTOR = 2
const REMOVE_TRIES = 200
const REMOVE_PAUSE_MS = 5

type Limited = Pick<MachineRecord, "uuid" | "vcpus" | "memoryBytes" | "accelerator">

/** Files that whoever serves this machine enters. */
export const cgroupsOf = (host: CgroupHost, { uuid }: Pick<MachineRecord, "uuid">): ReadonlyArray<string> =>
  servingCgroups(host, uuid)

/** Makes them and moves QEMU there. It is starting meanwhile, and nobody's yet. */
export const limitMachine = async (host: CgroupHost, machine: Limited, pid: number): Promise<void> => {
  const { uuid, vcpus, memoryBytes, accelerator } = machine
  const limits = {
    memoryBytes: memoryBytes + OVERHEAD_FACTOR * OVERHEAD_BYTES[accelerator],
    vcpus: vcpus + MORE_VCPUS,
    processes: PROCESSES_MAX
  }
  const { joins } = await makeCgroups(host, uuid, limits, null)
  await enterCgroups(joins, pid)
}

/** Removes them, with what is in them, as soon as that has died. */
export const removeMachineCgroups = async (host: CgroupHost, uuid: string): Promise<void> => {
  for (let tries = 0; tries < REMOVE_TRIES; tries++) {
    if (await removeCgroups(host, uuid).catch(() => false)) return
    await sleep(REMOVE_PAUSE_MS)
  }
}
