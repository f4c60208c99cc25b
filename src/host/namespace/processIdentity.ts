/**
 * Which process a pid meant when it was written down: pids are reused, a pid with its start time since boot is not.
 *
 * @source proc(5) /proc/pid/stat field 22, /proc/sys/kernel/random/boot_id
 */
import { readdirSync, readFileSync } from "node:fs"

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks since boot. */
  readonly startTime: string
  readonly bootId: string
}

let thisBoot: string | null = null
const bootId = (): string => {
  thisBoot ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()
  return thisBoot
}

// What the kernel shows is read as UTF-8, which Node does in one call and a third of the time; what is looked for is ASCII.

/** State and start time, or null when there is no such process. */
const stat = (pid: number): { readonly state: string; readonly startTime: string } | null => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    return { state: fields[0]!, startTime: fields[19]! }
  } catch {
    return null
  }
}

/** Null when the process is gone already. */
export const identify = (pid: number): ProcessIdentity | null => {
  const it = stat(pid)
  return it === null ? null : { pid, startTime: it.startTime, bootId: bootId() }
}

/** A zombie is dead. The boot is not compared: see `sameBoot`. */
export const isAlive = (it: ProcessIdentity): boolean => {
  const now = stat(it.pid)
  return now !== null && now.startTime === it.startTime && now.state !== "Z" && now.state !== "X"
}

/** Some process has its pid. */
export const mayBeAlive = ({ pid }: ProcessIdentity): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM"
  }
}

export const sameBoot = (it: ProcessIdentity): boolean => it.bootId === bootId()

/** The child of `init` that its own process namespace calls `innerPid`. */
export const identifyInside = (init: number, innerPid: number): ProcessIdentity | null => {
  for (const child of childrenOf(init)) {
    try {
      const pids = /^NSpid:\s+(.+)$/m.exec(readFileSync(`/proc/${child}/status`, "latin1"))?.[1]
      if (Number(pids?.split(/\s+/).at(-1)) === innerPid) return identify(child)
    } catch {
      // It ended while we looked.
    }
  }
  return null
}

const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Marks everything that the driver starts for a Sandbox, in the environment that `/proc/PID/environ` shows. */
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
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid <= 0) continue
    try {
      const marker = marked.exec(readFileSync(`/proc/${pid}/environ`, "utf8"))?.[1]
      const [owner, sandboxId, generation] = marker?.split("/") ?? []
      if (owner !== instance || sandboxId === undefined || !isWanted(sandboxId)) continue
      const it = stat(pid)
      if (it === null || it.state === "Z") continue
      found.push({ pid, sandboxId, generation: Number(generation) })
    } catch {
      // It ended, or belongs to somebody else.
    }
  }
  return found
}
