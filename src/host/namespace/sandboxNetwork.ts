/** A running Sandbox's network: which of its processes is in the network namespace, and which keep slirp4netns alive. */
import { closeSync } from "node:fs"
import { openLifePipe } from "../linux/lifePipe.ts"
import { connectNetwork } from "../linux/networkNamespace.ts"
import type { ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { MARKER } from "./markedProcesses.ts"
import type { SandboxState } from "./SandboxState.ts"

export interface SandboxNetwork {
  /** The outer and the inner bwrap. Without root the network namespace is made around bwrap, before bwrap starts. */
  readonly monitor: ProcessIdentity
  readonly init: ProcessIdentity | null
  readonly isRoot: boolean
  /** The Sandbox's cgroup files outside of the delegated directory: slirp4netns' work counts toward the Sandbox's limits. */
  readonly cgroups: ReadonlyArray<string>
  /** See `MARKER`. */
  readonly mark: string
}

/** `lifeFd` reads end of file when the Sandbox is gone. The caller closes it. Resolves with slirp4netns. */
export const connectSandbox = (it: SandboxNetwork, lifeFd: number): Promise<ProcessIdentity> =>
  connectNetwork({
    pid: (it.isRoot ? (it.init ?? it.monitor) : it.monitor).pid,
    throughUserNamespace: !it.isRoot,
    lifeFd,
    cgroups: it.cgroups,
    environment: { [MARKER]: it.mark }
  })

/** Restarts slirp4netns after it has died. */
export const reconnectSandbox = async (it: SandboxNetwork, state: SandboxState): Promise<ProcessIdentity> => {
  const lifeFd = openLifePipe(state.life)
  try {
    return await connectSandbox(it, lifeFd)
  } finally {
    closeSync(lifeFd)
  }
}
