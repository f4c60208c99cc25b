/**
 * Limits and measures a Sandbox with cgroups, by whichever cgroup version has the controller on this host. Also makes the cgroup v2 directory that is
 * delegated to the Sandbox's agent, which uses it to separate process trees; that works without any controller.
 *
 * @source Linux Documentation/admin-guide/cgroup-v1, cgroup-v2.rst
 */
import { createHmac } from "node:crypto"
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { chown, open, readdir, readFile, rmdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

type Controller = "memory" | "pids" | "cpu" | "cpuacct"

export interface CgroupLimits {
  readonly memoryBytes: number
  readonly vcpus: number
  readonly processes: number
}

/** The cgroup directories of this host. Null where a hierarchy is missing or not writable. */
export interface CgroupHost {
  /** Mount points of cgroup v1 controllers. */
  readonly v1: Readonly<Partial<Record<Controller, string>>>
  /** An empty cgroup in v1's cpuset that the Sandbox only sees: the JVM ignores all limits where cpuset is missing. Null where v1 has no cpuset. */
  readonly cpuset: string | null
  /** Mount point of the v2 hierarchy. */
  readonly v2: string | null
  /** Controllers that v2 enables in our directory. */
  readonly v2Controllers: ReadonlySet<string>
  readonly enforced: { readonly memory: boolean; readonly pids: boolean; readonly cpu: boolean }
}

const CFS_PERIOD_US = 100_000
/**
 * Version 1 charges socket buffers to a separate counter, and only if that counter has a limit. This share is close to that of a machine with the
 * Sandbox's memory: about a tenth (net.ipv4.tcp_mem). Version 2 charges socket buffers as memory.
 *
 * @source Linux Documentation/admin-guide/cgroup-v1/memory.rst 2.7.1, cgroup-v2.rst "memory.stat", `sock`
 */
const SOCKET_BUFFERS_DIVISOR = 8
/** Bounds what a Sandbox may create below its own directory: enough for one directory per command, and few enough to remove in one pass. */
const V2_DESCENDANTS_MAX = 2_048
const V2_DEPTH_MAX = 8

const writable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

export const NO_CGROUPS: CgroupHost = {
  v1: {},
  cpuset: null,
  v2: null,
  v2Controllers: new Set(),
  enforced: { memory: false, pids: false, cpu: false }
}

/**
 * The directory name, which Sandboxes see in their mount tables. It is a keyed digest, because a tenant may guess the data folder, and the instance
 * follows from that.
 */
const shownName = (instance: string): string => {
  const machine = existsSync("/etc/machine-id") ? readFileSync("/etc/machine-id", "latin1") : ""
  return `atoll-${createHmac("sha256", machine).update(instance).digest("hex").slice(0, 12)}`
}

/** Finds the cgroup hierarchies. With `use`, makes our directory in each. `instance` separates two services on one host. */
export const detectCgroups = (instance: string, use: boolean): CgroupHost => {
  const v1: Partial<Record<Controller, string>> = {}
  let cpuset: string | null = null
  let v2: string | null = null
  const v2Controllers = new Set<string>()
  for (const line of readFileSync("/proc/self/mounts", "latin1").split("\n")) {
    const [, path, type, options] = line.split(" ")
    if (path === undefined || options === undefined || !writable(path)) continue
    const own = join(path, instance)
    try {
      if (type === "cgroup") {
        if (options.split(",").includes("cpuset")) {
          const shown = join(path, shownName(instance))
          if (use) mkdirSync(shown, { recursive: true })
          cpuset = shown
        }
        const found = (["memory", "pids", "cpu", "cpuacct"] as const).filter((it) => options.split(",").includes(it))
        if (found.length === 0) continue
        if (use) mkdirSync(own, { recursive: true })
        for (const controller of found) v1[controller] = own
      } else if (type === "cgroup2" && v2 === null) {
        if (use) mkdirSync(own, { recursive: true })
        v2 = own
        for (const controller of use ? enableControllers(path, own) : available(path)) v2Controllers.add(controller)
      }
    } catch {
      // Mounted, but this process may not use it.
    }
  }
  const has = (controller: Controller) => v1[controller] !== undefined || v2Controllers.has(controller)
  return { v1, cpuset, v2, v2Controllers, enforced: { memory: has("memory"), pids: has("pids"), cpu: has("cpu") } }
}

const available = (root: string): ReadonlyArray<string> => {
  const listed = readFileSync(join(root, "cgroup.controllers"), "latin1").split(/\s/)
  return ["memory", "pids", "cpu"].filter((it) => listed.includes(it))
}

const enableControllers = (root: string, own: string): ReadonlyArray<string> =>
  available(root).filter((controller) => {
    try {
      writeFileSync(join(root, "cgroup.subtree_control"), `+${controller}`)
      writeFileSync(join(own, "cgroup.subtree_control"), `+${controller}`)
      return true
    } catch {
      // An ancestor cgroup has processes.
      return false
    }
  })

export interface SandboxCgroups {
  /**
   * The files that the launcher writes itself into before it drops its privileges: `tasks` of v1, because a process of one thread that moves itself by it
   * does not wait for the kernel.
   */
  readonly joins: ReadonlyArray<string>
  /** The cgroup v2 in which the launcher starts. Null without one. */
  readonly startsIn: string | null
  /** The same for helper processes that run outside the Sandbox but count toward its limits: directories outside the delegated one. */
  readonly serves: ReadonlyArray<string>
  /** The directory to delegate, or null. */
  readonly delegated: string | null
}

const folders = (host: CgroupHost, name: string): ReadonlyArray<string> => [
  ...new Set(Object.values(host.v1).map((path) => join(path, name))),
  ...(host.v2 === null ? [] : [join(host.v2, name)])
]

/** Whether Sandboxes here have any. */
export const hasCgroups = (host: CgroupHost): boolean => folders(host, ".").length > 0

/** The `cgroup.procs` files for helper processes that count toward this Sandbox's limits. */
export const servingCgroups = (host: CgroupHost, name: string): ReadonlyArray<string> =>
  folders(host, name).map((path) => join(path, "cgroup.procs"))

/** Moves a running process: it waits meanwhile. Failures are ignored: the process may have ended, or a hierarchy may be gone. */
export const enterCgroups = async (files: ReadonlyArray<string>, pid: number): Promise<void> => {
  // The kernel delays each write, so they run concurrently.
  await Promise.all(files.map((file) => writeFile(file, String(pid)).catch(() => {})))
}

/** The kernel allows no more cgroups on this host. */
export class CgroupsExhausted extends Error {}

/** Not Node's recursive mkdir, which reports a cgroup that the kernel refuses as a missing parent. */
const makeGroup = (path: string, makesParent = true): void => {
  try {
    mkdirSync(path)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === "EEXIST") return
    // The limits of an ancestor (cgroup.max.descendants), and of the kernel's ids.
    if (code === "EAGAIN" || code === "ENOSPC")
      throw new CgroupsExhausted(`No more cgroups are allowed here: ${message}`)
    if (code !== "ENOENT" || !makesParent) throw cause
    makeGroup(dirname(path))
    makeGroup(path, false)
  }
}

/** Creates the Sandbox's cgroups with their limits. `owner` may use the delegated directory; with null, none is delegated. */
export const makeCgroups = async (
  host: CgroupHost,
  name: string,
  limits: CgroupLimits,
  owner: number | null
): Promise<SandboxCgroups> => {
  const v1Limits: ReadonlyArray<readonly [Controller, string, number]> = [
    ["memory", "memory.limit_in_bytes", limits.memoryBytes],
    // This file is missing without swap accounting; then there is no swap to limit.
    ["memory", "memory.memsw.limit_in_bytes", limits.memoryBytes],
    ["memory", "memory.kmem.tcp.limit_in_bytes", Math.floor(limits.memoryBytes / SOCKET_BUFFERS_DIVISOR)],
    ["pids", "pids.max", limits.processes],
    ["cpu", "cpu.cfs_period_us", CFS_PERIOD_US],
    ["cpu", "cpu.cfs_quota_us", Math.round(limits.vcpus * CFS_PERIOD_US)]
  ]
  const v2Limits: ReadonlyArray<readonly [Controller, string, string]> = [
    ["memory", "memory.max", String(limits.memoryBytes)],
    ["memory", "memory.swap.max", "0"],
    ["pids", "pids.max", String(limits.processes)],
    ["cpu", "cpu.max", `${Math.round(limits.vcpus * CFS_PERIOD_US)} ${CFS_PERIOD_US}`]
  ]
  const v1 = [...new Set(Object.values(host.v1))].map((path) => join(path, name))
  for (const path of v1) makeGroup(path)
  const joins = v1.map((path) => join(path, "tasks"))
  const serves = servingCgroups(host, name)
  for (const [controller, file, value] of v1Limits) {
    const path = host.v1[controller]
    if (path === undefined || !existsSync(join(path, name, file))) continue
    writeFileSync(join(path, name, file), String(value))
  }
  if (host.v2 === null) return { joins, startsIn: null, serves, delegated: null }
  const own = join(host.v2, name)
  const delegated = join(own, "tree")
  makeGroup(owner === null ? own : delegated)
  for (const [controller, file, value] of v2Limits) {
    if (host.v2Controllers.has(controller) && existsSync(join(own, file))) writeFileSync(join(own, file), value)
  }
  if (owner === null) return { joins, startsIn: own, serves, delegated: null }
  writeFileSync(join(own, "cgroup.max.descendants"), String(V2_DESCENDANTS_MAX))
  writeFileSync(join(own, "cgroup.max.depth"), String(V2_DEPTH_MAX))
  for (const path of [delegated, join(delegated, "cgroup.procs"), join(delegated, "cgroup.threads")]) {
    await chown(path, owner, owner)
  }
  return { joins, startsIn: delegated, serves, delegated }
}

/** Kills all processes in the Sandbox's cgroups and removes the cgroups. True when none is left; false while a process in them is still dying. */
export const removeCgroups = async (host: CgroupHost, name: string): Promise<boolean> => {
  if (host.v2 !== null) {
    // Absent on kernels before 5.14; there `killAll` kills each pid.
    await writeFile(join(host.v2, name, "cgroup.kill"), "1").catch(() => {})
  }
  let removed = true
  for (const path of folders(host, name)) removed = (await removeGroup(path)) && removed
  return removed
}

/** Removes this instance's empty directories. */
export const releaseCgroups = async (host: CgroupHost): Promise<void> => {
  const own = host.cpuset === null ? folders(host, ".") : [...folders(host, "."), host.cpuset]
  for (const path of own) await rmdir(path).catch(() => {})
}

/** The wanted names whose cgroups have processes in them. A Sandbox cannot create such a cgroup. */
export const cgroupNames = (host: CgroupHost, isWanted: (name: string) => boolean): ReadonlyArray<string> =>
  allCgroupNames(host).filter((name) => isWanted(name) && folders(host, name).some(isPopulated))

/** All names, including those of empty cgroups. */
export const allCgroupNames = (host: CgroupHost): ReadonlyArray<string> => [
  ...new Set(folders(host, ".").filter(existsSync).flatMap(subfolders))
]

const subfolders = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { withFileTypes: true })
    .filter((it) => it.isDirectory())
    .map((it) => it.name)

const isPopulated = (path: string): boolean => {
  try {
    // Version 2 reports on the whole subtree; in version 1 nothing is below.
    const events = join(path, "cgroup.events")
    return existsSync(events)
      ? /^populated 1$/m.test(readFileSync(events, "latin1"))
      : readFileSync(join(path, "cgroup.procs"), "latin1") !== ""
  } catch {
    return false
  }
}

/**
 * Kills the processes in a cgroup directory and removes it with all directories below. The Sandbox chooses names and depth below, so each directory
 * is opened relative to its parent's descriptor: no path grows with the depth.
 */
const removeGroup = async (path: string): Promise<boolean> => {
  try {
    const held = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    try {
      const here = `/proc/self/fd/${held.fd}`
      for (const it of await readdir(here, { withFileTypes: true })) {
        if (it.isDirectory()) await removeGroup(join(here, it.name))
      }
      await killAll(join(here, "cgroup.procs"))
    } finally {
      await held.close()
    }
    await rmdir(path)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ENOENT"
  }
}

const killAll = async (procs: string): Promise<void> => {
  // A threaded cgroup does not list its processes; they are killed through its parent.
  const pids = await readFile(procs, "latin1").catch(() => "")
  // 0, of a process that was just reaped, would be this process's own group.
  for (const pid of pids.split("\n").map(Number).filter(Boolean)) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It ended in between.
    }
  }
}

const number = (path: string): number | null => {
  try {
    const value = Number(readFileSync(path, "utf8").trim())
    return Number.isFinite(value) ? value : null
  } catch {
    return null
  }
}

const field = (path: string, name: string): number | null => {
  try {
    const value = new RegExp(`^${name} (\\d+)$`, "m").exec(readFileSync(path, "utf8"))
    return value === null ? null : Number(value[1])
  } catch {
    return null
  }
}

export const cgroupCpuSeconds = (host: CgroupHost, name: string): number | null => {
  const v1 = host.v1.cpuacct === undefined ? null : number(join(host.v1.cpuacct, name, "cpuacct.usage"))
  if (v1 !== null) return v1 / 1e9
  const v2 = host.v2 === null ? null : field(join(host.v2, name, "cpu.stat"), "usage_usec")
  return v2 === null ? null : v2 / 1e6
}

/** Memory that the kernel cannot reclaim immediately: usage without inactive file pages. */
export const cgroupMemoryBytes = (host: CgroupHost, name: string): number | null => {
  const [folder, use, inactive] =
    host.v1.memory !== undefined
      ? [join(host.v1.memory, name), "memory.usage_in_bytes", "total_inactive_file"]
      : [join(host.v2 ?? "", name), "memory.current", "inactive_file"]
  const total = number(join(folder, use))
  return total === null ? null : Math.max(0, total - (field(join(folder, "memory.stat"), inactive) ?? 0))
}

/**
 * Gives running processes other limits of memory and processors. Rejects when they use more memory: version 2 would kill processes for it.
 */
export const resizeCgroups = async (
  host: CgroupHost,
  name: string,
  { memoryBytes, vcpus }: Omit<CgroupLimits, "processes">
): Promise<void> => {
  const used = cgroupMemoryBytes(host, name)
  if (used !== null && used > memoryBytes) {
    throw new Error(`it has ${used} bytes of memory in use, and would have ${memoryBytes}`)
  }
  const write = (folder: string | undefined | null, file: string, value: string | number): void => {
    const path = join(folder ?? "", name, file)
    if (folder !== undefined && folder !== null && existsSync(path)) writeFileSync(path, String(value))
  }
  const { memory, cpu } = host.v1
  const before = memory === undefined ? null : number(join(memory, name, "memory.limit_in_bytes"))
  // Memory with swap is never less than memory.
  const limits = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
  for (const file of before !== null && before < memoryBytes ? limits.toReversed() : limits) {
    write(memory, file, memoryBytes)
  }
  write(memory, "memory.kmem.tcp.limit_in_bytes", Math.floor(memoryBytes / SOCKET_BUFFERS_DIVISOR))
  write(cpu, "cpu.cfs_quota_us", Math.round(vcpus * CFS_PERIOD_US))
  if (host.v2Controllers.has("memory")) write(host.v2, "memory.max", memoryBytes)
  if (host.v2Controllers.has("cpu")) write(host.v2, "cpu.max", `${Math.round(vcpus * CFS_PERIOD_US)} ${CFS_PERIOD_US}`)
}

/** How many of the Sandbox's processes the kernel killed because memory ran out. */
export const cgroupOomKills = (host: CgroupHost, name: string): number =>
  (host.v1.memory === undefined
    ? field(join(host.v2 ?? "", name, "memory.events"), "oom_kill")
    : field(join(host.v1.memory, name, "memory.oom_control"), "oom_kill")) ?? 0
