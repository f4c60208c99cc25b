/**
 * Which process a recorded pid was: a pid alone may have been given to another since.
 *
 * @source proc_pid_stat(5) field 22, /proc/sys/kernel/random/boot_id
 */
import { readdirSync, readFileSync } from "node:fs"

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks since the host's boot. */
  readonly startTime: number
  readonly hostBootId: string
}

const hostBootId = (): string => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()

/** The fields of /proc/PID/stat from the third on, or null. The name before them may hold anything. */
const statFields = (pid: number): ReadonlyArray<string> | null => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    return text.slice(text.lastIndexOf(")") + 2).split(" ")
  } catch {
    return null
  }
}

/** Null when there is no such process, or only its zombie. */
export const identify = (pid: number): ProcessIdentity | null => {
  const fields = statFields(pid)
  if (fields === null || fields[0] === "Z" || fields[0] === "X") return null
  return { pid, startTime: Number(fields[19]), hostBootId: hostBootId() }
}

export const isAlive = (identity: ProcessIdentity): boolean => {
  const now = identify(identity.pid)
  return now !== null && now.startTime === identity.startTime && now.hostBootId === identity.hostBootId
}

/** Sends a signal to exactly that process; does nothing when it is gone. */
export const signal = (identity: ProcessIdentity, name: NodeJS.Signals): void => {
  if (!isAlive(identity)) return
  try {
    process.kill(identity.pid, name)
  } catch {
    // It ended in between.
  }
}

/** Processor time that a process has used, in seconds. Null when it is gone. */
export const cpuSecondsOf = (identity: ProcessIdentity): number | null => {
  const fields = isAlive(identity) ? statFields(identity.pid) : null
  return fields === null ? null : (Number(fields[11]) + Number(fields[12])) / 100
}

/** The process that has this argument on its command line: finds one whose pid was never written down. */
export const findByArgument = (argument: string): ProcessIdentity | null => {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0")
      if (words.includes(argument)) return identify(Number(name))
    } catch {
      // It ended in between.
    }
  }
  return null
}
