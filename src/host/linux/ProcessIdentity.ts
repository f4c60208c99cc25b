/**
 * Identifies a recorded process. The kernel reuses pids, but never a pid together with its start time since boot.
 *
 * @source proc_pid_stat(5) field 22, /proc/sys/kernel/random/boot_id
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks since the host's boot. */
  readonly startTime: number
  readonly bootId: string
}

let thisBoot: string | null = null
const bootId = (): string => {
  thisBoot ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim()
  return thisBoot
}

/**
 * The fields of /proc/PID/stat from the third on, or null. The name before them may contain any character. Reading as UTF-8 takes a third of the time
 * of latin1.
 */
const statFields = (pid: number): ReadonlyArray<string> | null => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    return text.slice(text.lastIndexOf(")") + 2).split(" ")
  } catch {
    return null
  }
}

/** Null when the process does not exist or is a zombie. */
export const identify = (pid: number): ProcessIdentity | null => {
  const fields = statFields(pid)
  if (fields === null || fields[0] === "Z" || fields[0] === "X") return null
  return { pid, startTime: Number(fields[19]), bootId: bootId() }
}

/** False when the host has rebooted since. */
export const isOfThisBoot = (it: ProcessIdentity): boolean => it.bootId === bootId()

export const isSame = (one: ProcessIdentity, other: ProcessIdentity): boolean =>
  one.pid === other.pid && one.startTime === other.startTime && one.bootId === other.bootId

export const isAlive = (it: ProcessIdentity): boolean =>
  isOfThisBoot(it) && identify(it.pid)?.startTime === it.startTime

/** Whether any process has this pid: one system call. A zombie or a reused pid counts too. */
export const mayBeAlive = ({ pid }: ProcessIdentity): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Sends a signal to exactly that process. Does nothing when it is gone. */
export const signal = (it: ProcessIdentity, name: NodeJS.Signals): void => {
  try {
    if (isAlive(it)) process.kill(it.pid, name)
  } catch {
    // It ended in between.
  }
}

/** Resolves true once `lives` is false, or false when `lives` is still true after the time-out. */
export const goneWithin = async (lives: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs
  for (let pauseMs = 1; await lives(); pauseMs = Math.min(pauseMs * 2, 25)) {
    if (performance.now() > deadline) return false
    await sleep(pauseMs)
  }
  return true
}

/** Processor time that a process has used, in seconds. Null when it is gone. */
export const cpuSecondsOf = (it: ProcessIdentity): number | null => {
  const fields = isAlive(it) ? statFields(it.pid) : null
  return fields === null ? null : (Number(fields[11]) + Number(fields[12])) / 100
}

/** The pids of all running processes. */
export const allPids = (): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)

let thisNamespace: string | null = null

/**
 * Whether it runs in another process namespace, so inside a Sandbox. Asks in 4 µs what a read of its status says in 44. False also when the kernel
 * does not say it.
 *
 * @source namespaces(7), /proc/pid/ns/
 */
export const runsElsewhere = (pid: number): boolean => {
  try {
    thisNamespace ??= readlinkSync("/proc/self/ns/pid")
    return readlinkSync(`/proc/${pid}/ns/pid`) !== thisNamespace
  } catch {
    return false
  }
}

/**
 * Whether `status` (a `/proc/PID/status`) belongs to a process outside every Sandbox: it runs in our own process namespace, and `isUser` accepts its
 * user. The command line and environment of such a process are evidence; a Sandbox's process can forge its own.
 *
 * @source proc_pid_status(5) Uid, NSpid
 */
export const runsHere = (status: string, isUser: (uid: number) => boolean): boolean =>
  isUser(Number(/^Uid:\s+(\d+)/m.exec(status)?.[1])) &&
  // A process in a child namespace has more than one pid. A zombie is no running process.
  /^NSpid:\s+\d+$/m.test(status) &&
  !/^State:\s+[ZX]/m.test(status)

/** Finds a process whose pid was never recorded: one of such a user with this argument on its command line. */
export const findByArgument = (argument: string, isUser: (uid: number) => boolean): ProcessIdentity | null => {
  for (const pid of allPids()) {
    try {
      if (!runsHere(readFileSync(`/proc/${pid}/status`, "latin1"), isUser)) continue
      const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0")
      if (words.includes(argument)) return identify(pid)
    } catch {
      // It ended in between.
    }
  }
  return null
}

/** The child of `init` whose pid inside its own process namespace is `innerPid`. */
export const identifyInside = (init: number, innerPid: number): ProcessIdentity | null => {
  for (const child of childrenOf(init)) {
    try {
      const pids = /^NSpid:\s+(.+)$/m.exec(readFileSync(`/proc/${child}/status`, "latin1"))?.[1]
      if (Number(pids?.split(/\s+/).at(-1)) === innerPid) return identify(child)
    } catch {
      // It ended in between.
    }
  }
  return null
}

/** Empty when the process is gone. */
export const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number)
  } catch {
    return []
  }
}
