/** Ends all processes of one Sandbox: recorded ones, helper processes of the driver, and all in its cgroups. */
import { type CgroupHost, hasCgroups, removeCgroups } from "../linux/cgroups.ts"
import { childrenOf, goneWithin, identify, isAlive, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import type { HostLayout } from "./HostLayout.ts"
import { markedProcesses } from "./markedProcesses.ts"
import type { RuntimeRecord, SandboxState } from "./SandboxState.ts"

const TIMEOUT_MS = 10_000

/**
 * Whether all that may run is in the record or in the cgroups. What starts a Sandbox enters the cgroups first, so only a boot that was not recorded to
 * its end may have processes elsewhere. To look at every process of the host takes 90 µs each: with a thousand Sandboxes half a second.
 */
const isWhole = (record: RuntimeRecord | null, cgroups: CgroupHost): boolean =>
  record !== null && record.init !== null && record.agent !== null && hasCgroups(cgroups)

/** Resolves when all are dead and the cgroups are removed. Throws when that takes too long. */
export const endProcesses = async (layout: HostLayout, cgroups: CgroupHost, state: SandboxState): Promise<void> => {
  const name = layout.nameOf(state.sandboxId)
  const record = state.runtime()
  const victims = new Map<number, ProcessIdentity>()
  for (const it of [record?.init, record?.monitor, record?.network]) if (it) victims.set(it.pid, it)
  const marked = isWhole(record, cgroups) ? [] : markedProcesses(layout.instance)
  for (const { pid } of marked.filter((it) => it.name === name)) {
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
