/** A running Sandbox's way to the internet: which of its processes is in the network namespace, and which keep slirp4netns alive. */
import { closeSync } from "node:fs"
import { openLifePipe } from "../linux/lifePipe.ts"
import { connectNetwork } from "../linux/networkNamespace.ts"
import type { ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { MARKER } from "./markedProcesses.ts"
import type { SandboxState } from "./SandboxState.ts"

export interface SandboxNetwork {
  /** bwrap outside and inside. Without root the network namespace is made around bwrap, which has not begun then. */
  readonly monitor: ProcessIdentity
  readonly init: ProcessIdentity | null
  readonly isRoot: boolean
  /** Files of the Sandbox's cgroups, outside of what is delegated to it: it pays for what it makes slirp4netns do. */
  readonly cgroups: ReadonlyArray<string>
  /** See `MARKER`. */
  readonly mark: string
}

/** `lifeFd` reads end of file when the Sandbox is gone; the caller closes it. Resolves with slirp4netns. */
export const connectSandbox = (it: SandboxNetwork, lifeFd: number): Promise<ProcessIdentity> =>
  connectNetwork({
    pid: (it.isRoot ? (it.init ?? it.monitor) : it.monitor).pid,
    throughUserNamespace: !it.isRoot,
    lifeFd,
    cgroups: it.cgroups,
    environment: { [MARKER]: it.mark }
  })

/** Once more, after slirp4netns has died. */
export const reconnectSandbox = async (it: SandboxNetwork, state: SandboxState): Promise<ProcessIdentity> => {
  const lifeFd = openLifePipe(state.life)
  try {
    return await connectSandbox(it, lifeFd)
  } finally {
    closeSync(lifeFd)
  }
}
