/** Ends whatever runs of one Sandbox: what was recorded, what carries its marker, what is in its cgroups. */
import { type CgroupHost, cgroupPids, removeCgroups } from "../linux/cgroups.ts"
import { goneWithin, identify, isAlive, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import { markedProcesses } from "./markedProcesses.ts"
import type { SandboxState } from "./SandboxState.ts"

const TIMEOUT_MS = 10_000

/** Resolves when all of them are dead and the cgroups removed; throws when that does not come about in time. */
export const endProcesses = async (instance: string, cgroups: CgroupHost, state: SandboxState): Promise<void> => {
  const { sandboxId } = state
  const record = state.runtime()
  const victims = new Map<number, ProcessIdentity>()
  for (const it of [record?.init, record?.monitor]) if (it) victims.set(it.pid, it)
  const marked = markedProcesses(instance, (id) => id === sandboxId)
  for (const pid of [...marked.map((it) => it.pid), ...cgroupPids(cgroups, sandboxId)]) {
    const it = identify(pid)
    if (it !== null) victims.set(pid, it)
  }
  for (const it of victims.values()) signal(it, "SIGKILL")
  if (!(await goneWithin(() => [...victims.values()].some(isAlive), TIMEOUT_MS))) {
    throw new Error(`processes of ${sandboxId} do not die`)
  }
  if (!(await goneWithin(() => !removeCgroups(cgroups, sandboxId), TIMEOUT_MS))) {
    throw new Error(`the cgroups of ${sandboxId} cannot be removed`)
  }
}
