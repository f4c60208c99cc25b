/**
 * Finds the processes that the driver started outside of Sandboxes (bubblewrap's monitor, slirp4netns) by a mark in their environment.
 *
 * A process in a Sandbox can carry any mark. So a mark counts only for a process that cannot be a Sandbox's: it is in our own process namespace, and
 * runs as our user or as a Sandbox's user id.
 */
import { readFileSync } from "node:fs"
import { allPids, runsElsewhere, runsHere } from "../linux/ProcessIdentity.ts"
import { isSandboxId, isSpareName } from "../linux/SandboxRecords.ts"

export const MARKER = "ATOLL_SANDBOX"

/** The user ids of Sandboxes. */
export const SANDBOX_USERS = { first: 2_000_000, count: 65_536 }

export interface MarkedProcess {
  readonly pid: number
  /** Of the Sandbox on this host; see `HostLayout.nameOf`. */
  readonly name: string
  readonly generation: number
}

/** `<instance>/<name>/<generation>`. */
export const markOf = (instance: string, name: string, generation: number): string =>
  `${instance}/${name}/${generation}`

/**
 * All processes with this driver instance's mark: what really runs, independently of the records.
 *
 * @param isKnown Whether the caller needs no look at this pid.
 */
export const markedProcesses = (
  instance: string,
  isKnown: (pid: number) => boolean = () => false
): ReadonlyArray<MarkedProcess> =>
  allPids().flatMap((pid) => {
    if (isKnown(pid) || runsElsewhere(pid)) return []
    try {
      if (!runsHere(readFileSync(`/proc/${pid}/status`, "utf8"), isOurUser)) return []
      const mark = markIn(readFileSync(`/proc/${pid}/environ`, "utf8"))
      return mark?.instance === instance ? [{ pid, ...mark }] : []
    } catch {
      // It ended, or belongs to another user.
      return []
    }
  })

const isOurUser = (uid: number): boolean =>
  uid === process.getuid?.() || (uid >= SANDBOX_USERS.first && uid < SANDBOX_USERS.first + SANDBOX_USERS.count)

const markIn = (environ: string) => {
  const text = environ.split("\0").find((it) => it.startsWith(`${MARKER}=`))
  const [instance, name, generation] = text?.slice(MARKER.length + 1).split("/") ?? []
  if (instance === undefined || !(isSandboxId(name) || isSpareName(name)) || !/^\d{1,15}$/.test(generation ?? ""))
    return null
  return { instance, name, generation: Number(generation) }
}
