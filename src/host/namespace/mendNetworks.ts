/** Keeps the networks of running Sandboxes: closed to the host's addresses, and connected. */
import { type CgroupHost, servingCgroups } from "../linux/cgroups.ts"
import { hostAddresses } from "../linux/forbiddenRanges.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import { closeHostAddresses, isClosedTo } from "../linux/networkNamespace.ts"
import type { HostLayout } from "./HostLayout.ts"
import type { LiveSandbox, LiveSandboxes } from "./LiveSandboxes.ts"
import { hasLostNetwork, isUp } from "./SandboxState.ts"
import { reconnectSandbox } from "./sandboxNetwork.ts"

/**
 * Blocks host addresses that were added since in every network, and restarts slirp4netns for every Sandbox where it has died. Returns one sentence for
 * each restart.
 */
export const mendNetworks = async (
  layout: HostLayout,
  cgroups: CgroupHost,
  sandboxes: LiveSandboxes,
  turns: HostMutex
): Promise<ReadonlyArray<string>> => {
  const addresses = hostAddresses()
  for (const [, { network, record }] of sandboxes.entries()) {
    if (network === null || isClosedTo(network, addresses) || !isUp(record)) continue
    // A failure is retried at the next pass.
    await closeHostAddresses(network, addresses).catch(() => {})
  }
  const now = performance.now()
  const lost = [...sandboxes.entries()].filter(
    ([, { record, networkLook, networkPause }]) =>
      record.network && !networkLook.isAlive(record.network, now) && networkPause.isDue(now)
  )
  const told = await Promise.all(
    lost.map(([sandboxId, live]) =>
      turns.pass(sandboxId, async () =>
        sandboxes.get(sandboxId) === live ? await mendNetwork(layout, cgroups, sandboxId, live) : null
      )
    )
  )
  return told.flatMap((it) => (it === null ? [] : [it]))
}

const mendNetwork = async (layout: HostLayout, cgroups: CgroupHost, sandboxId: string, live: LiveSandbox) => {
  const { record } = live
  const { init, monitor, generation } = record
  if (init === null || !isUp(record) || !hasLostNetwork(record)) return null
  live.networkPause.tried(performance.now())
  try {
    const mark = layout.marker({ sandboxId, generation })
    const serves = servingCgroups(cgroups, layout.nameOf(sandboxId))
    const state = layout.state(sandboxId)
    const network = await reconnectSandbox({ init, monitor, isRoot: layout.isRoot, cgroups: serves, mark }, state)
    live.record = { ...record, network }
    await state.writeRuntime(live.record)
    return `The network of Sandbox ${sandboxId} had died and was restarted.`
  } catch (cause) {
    return `The network of Sandbox ${sandboxId} has died: ${cause instanceof Error ? cause.message : String(cause)}`
  }
}
