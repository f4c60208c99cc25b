/** Ends whatever runs of one Sandbox: what was recorded, what carries its marker, what is in its cgroups. */
import { type CgroupHost, cgroupPids, removeCgroups } from "./cgroups.ts"
import { identify, isAlive, markedProcesses, type ProcessIdentity, sameBoot } from "./processIdentity.ts"
import type { SandboxState } from "./SandboxState.ts"

const POLL_MS = 5
const TIMEOUT_MS = 10_000

/** Resolves when all of them are dead and the cgroups removed; throws when that does not come about in time. */
export const endProcesses = async (instance: string, cgroups: CgroupHost, state: SandboxState): Promise<void> => {
  const { sandboxId } = state
  const record = state.runtime()
  const victims = new Map<number, ProcessIdentity>()
  for (const it of [record?.init, record?.monitor]) if (it && sameBoot(it)) victims.set(it.pid, it)
  const marked = markedProcesses(instance, (id) => id === sandboxId)
  for (const pid of [...marked.map((it) => it.pid), ...cgroupPids(cgroups, sandboxId)]) {
    const it = identify(pid)
    if (it !== null) victims.set(pid, it)
  }
  for (const it of victims.values()) killNow(it)
  const deadline = Date.now() + TIMEOUT_MS
  await until(deadline, `processes of ${sandboxId} do not die`, () => ![...victims.values()].some(isAlive))
  await until(deadline, `the cgroups of ${sandboxId} cannot be removed`, () => removeCgroups(cgroups, sandboxId))
}

export const killNow = (it: ProcessIdentity): void => {
  try {
    if (isAlive(it)) process.kill(it.pid, "SIGKILL")
  } catch {
    // Gone in between.
  }
}

const until = async (deadline: number, otherwise: string, holds: () => boolean): Promise<void> => {
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(otherwise)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
