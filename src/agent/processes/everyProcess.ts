/**
 * Lists and ends any process of the Sandbox's user, from every command: the leftovers of a fork bomb or a background job have no other handle.
 *
 * @source proc_pid_stat(5), proc_pid_status(5), proc_pid_cmdline(5), passwd(5)
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs"
import { EVERY_PROCESS_MAX, PROCESS_ARGV_MAX_BYTES, USER_NAME } from "../wire.ts"
import { signalPid } from "./ProcessTree.ts"

export interface OneProcess {
  readonly pid: number
  readonly parentPid: number
  /** Start time in clock ticks since boot: together with the pid it is unique. */
  readonly startTicks: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly state: "running" | "sleeping" | "stopped" | "zombie"
  readonly cpuMs: number
  readonly memoryBytes: number
  /** Cut to PROCESS_ARGV_MAX_BYTES. The kernel's name of the process in brackets where it has no command line. */
  readonly argv: ReadonlyArray<string>
  /** The owner by effective user id: the Sandbox's name for it, or else the number. */
  readonly user: string
  /** The key of the command that it descends from; null when that is unknown or it left the command. */
  readonly command: string | null
}

/** The clock ticks of /proc; the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4096
/** Users beyond this size are shown as numbers. */
const PASSWD_MAX_BYTES = 64 * 1024

const STATES: Readonly<Record<string, OneProcess["state"]>> = {
  R: "running",
  T: "stopped",
  t: "stopped",
  Z: "zombie",
  X: "zombie"
}

const head = (path: string, bytes: number): Buffer => {
  const fd = openSync(path, "r")
  try {
    const buffer = Buffer.alloc(bytes)
    return buffer.subarray(0, readSync(fd, buffer, 0, bytes, 0))
  } finally {
    closeSync(fd)
  }
}

/** Parses /proc/PID/stat. The name may contain any character, also blanks and brackets. */
const readStat = (pid: number) => {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1")
  const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"))
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  const at = (field: number) => Number(fields[field - 3])
  return {
    name,
    state: STATES[fields[0]!] ?? ("sleeping" as const),
    parentPid: at(4),
    cpuMs: Math.round(((at(14) + at(15)) * 1000) / TICKS_PER_SECOND),
    startTicks: at(22),
    memoryBytes: at(24) * PAGE_BYTES
  }
}

/** The Sandbox's root may have written anything to /etc/passwd. */
const userNames = (): ReadonlyMap<string, string> => {
  try {
    const lines = head("/etc/passwd", PASSWD_MAX_BYTES).toString("latin1").split("\n")
    const named = lines.map((line) => line.split(":")).filter(([name]) => USER_NAME.test(name!))
    // Like getpwuid, takes the first of several names with the same id.
    return new Map(named.reverse().map(([name, , uid]) => [uid ?? "", name!]))
  } catch {
    return new Map()
  }
}

const effectiveUid = (pid: number): string =>
  /^Uid:\t\d+\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "0"

const bootedAt = (): number => {
  const found = /^btime (\d+)$/m.exec(readFileSync("/proc/stat", "latin1"))
  return found === null ? 0 : Number(found[1]) * 1000
}

/** The agent's cgroup. Processes that became another user by sudo stay below it. Null where there is no cgroup v2 path. */
const ownCgroup = (): string | null => {
  try {
    const found = /^0::(\/.+)$/m.exec(readFileSync("/proc/self/cgroup", "latin1"))
    return found === null ? null : `0::${found[1]}/`
  } catch {
    return null
  }
}

const isOfUser = (pid: number, uid: number, cgroup: string | null): boolean =>
  statSync(`/proc/${pid}`).uid === uid ||
  (cgroup !== null &&
    readFileSync(`/proc/${pid}/cgroup`, "latin1")
      .split("\n")
      .some((line) => line.startsWith(cgroup)))

interface Known {
  /** Epoch milliseconds. */
  readonly boot: number
  readonly users: ReadonlyMap<string, string>
  readonly commandOf: (pid: number) => string | null
}

const describe = (pid: number, { boot, users, commandOf }: Known): OneProcess => {
  const { name, ...stat } = readStat(pid)
  const line = head(`/proc/${pid}/cmdline`, PROCESS_ARGV_MAX_BYTES).toString("utf8")
  const argv = line === "" ? [`[${name}]`] : line.replace(/\0$/, "").split("\0")
  const startedAt = Math.max(0, Math.round(boot + (stat.startTicks * 1000) / TICKS_PER_SECOND))
  const uid = effectiveUid(pid)
  return { pid, ...stat, startedAt, argv, user: users.get(uid) ?? uid, command: commandOf(pid) }
}

/**
 * @param uid The owner of the processes. The agent's own processes are excluded.
 * @param commandOf The key of the command that a process descends from.
 */
export const listEveryProcess = (
  uid: number,
  own: ReadonlySet<number>,
  commandOf: (pid: number) => string | null
): { readonly processes: ReadonlyArray<OneProcess>; readonly truncated: boolean } => {
  const known = { boot: bootedAt(), users: userNames(), commandOf }
  const cgroup = ownCgroup()
  const processes: Array<OneProcess> = []
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || own.has(pid)) continue
    try {
      if (!isOfUser(pid, uid, cgroup)) continue
      if (processes.length >= EVERY_PROCESS_MAX) return { processes, truncated: true }
      processes.push(describe(pid, known))
    } catch {
      // It ended in between.
    }
  }
  return { processes, truncated: false }
}

/** @returns False when that process has ended, even if its parent has not yet waited for it, or when it does not belong to the user. */
export const endOneProcess = (
  { pid, startTicks, uid, graceMs }: { pid: number; startTicks: number; uid: number; graceMs: number },
  own: ReadonlySet<number>
): boolean => {
  const cgroup = ownCgroup()
  const isIt = (): boolean => {
    try {
      const stat = readStat(pid)
      return isOfUser(pid, uid, cgroup) && stat.startTicks === startTicks && stat.state !== "zombie"
    } catch {
      return false
    }
  }
  if (own.has(pid) || !isIt()) return false
  if (graceMs === 0) return signalPid(pid, "SIGKILL")
  signalPid(pid, "SIGTERM")
  // A stopped process handles the signal only after it continues.
  signalPid(pid, "SIGCONT")
  setTimeout(() => isIt() && signalPid(pid, "SIGKILL"), graceMs)
  return true
}
