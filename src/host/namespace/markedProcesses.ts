/** The mark in the environment of everything that the driver starts for a Sandbox, which `/proc/PID/environ` shows. */
import { readFileSync } from "node:fs"
import { allPids, identify } from "../linux/ProcessIdentity.ts"

export const MARKER = "ATOLL_SANDBOX"
const marked = new RegExp(`(?:^|\\0)${MARKER}=([^\\0]*)`)

export interface MarkedProcess {
  readonly pid: number
  readonly sandboxId: string
  readonly generation: number
}

/** Every process that carries this driver instance's marker, of some Sandboxes: what really runs, whatever the state files say. */
export const markedProcesses = (
  instance: string,
  isWanted: (sandboxId: string) => boolean
): ReadonlyArray<MarkedProcess> => {
  const found: Array<MarkedProcess> = []
  for (const pid of allPids()) {
    try {
      const marker = marked.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1]
      const [owner, sandboxId, generation] = marker?.split("/") ?? []
      if (owner !== instance || sandboxId === undefined || !isWanted(sandboxId)) continue
      if (identify(pid) !== null) found.push({ pid, sandboxId, generation: Number(generation) })
    } catch {
      // It ended, or belongs to somebody else.
    }
  }
  return found
}
