/** Ends all processes of one Sandbox: recorded ones, helper processes of the driver, and all in its cgroups. */
import { type CgroupHost, removeCgroups } from "../linux/cgroups.ts"
import { childrenOf, goneWithin, identify, isAlive, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import type { HostLayout } from "./HostLayout.ts"
import { markedProcesses } from "./markedProcesses.ts"
import type { SandboxState } from "./SandboxState.ts"

const TIMEOUT_MS = 10_000

/** Resolves when all are dead and the cgroups are removed. Throws when that takes too long. */
export const endProcesses = async (layout: HostLayout, cgroups: CgroupHost, state: SandboxState): Promise<void> => {
  const name = layout.nameOf(state.sandboxId)
  const record = state.runtime()
  const victims = new Map<number, ProcessIdentity>()
  for (const it of [record?.init, record?.monitor, record?.network]) if (it) victims.set(it.pid, it)
  for (const { pid } of markedProcesses(layout.instance).filter((it) => it.name === name)) {
    // Its child may be an init that was never recorded.
    for (const one of [pid, ...childrenOf(pid)]) {
      const it = identify(one)
      if (it !== null) victims.set(one, it)
    }
  }
  for (const it of victims.values()) signal(it, "SIGKILL")
  if (!(await goneWithin(() => [...victims.values()].some(isAlive), TIMEOUT_MS))) {
    throw new Error(`processes of ${state.sandboxId} do not die`)
  }
  // The remaining processes died with the init of their process namespace, or are killed here.
  if (!(await goneWithin(async () => !(await removeCgroups(cgroups, name)), TIMEOUT_MS))) {
    throw new Error(`the cgroups of ${state.sandboxId} cannot be removed`)
  }
}
