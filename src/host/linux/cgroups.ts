/**
 * Limits and measurements of a Sandbox by cgroups, whichever version carries the controller on this host, and the cgroup v2 directory that
 * is delegated to the Sandbox's agent to tell process trees apart (which works without any controller).
 *
 * @source Linux Documentation/admin-guide/cgroup-v1, cgroup-v2.rst
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync
} from "node:fs"
import { chown } from "node:fs/promises"
import { join } from "node:path"

type Controller = "memory" | "pids" | "cpu" | "cpuacct"

export interface CgroupLimits {
  readonly memoryBytes: number
  readonly vcpus: number
  readonly processes: number
}

/** Where each thing lives on this host; null: not there or not writable. */
export interface CgroupHost {
  /** Mount points of cgroup v1 controllers. */
  readonly v1: Readonly<Partial<Record<Controller, string>>>
  /** Mount point of the v2 hierarchy. */
  readonly v2: string | null
  /** Controllers that v2 hands to our directory. */
  readonly v2Controllers: ReadonlySet<string>
  readonly enforced: { readonly memory: boolean; readonly pids: boolean; readonly cpu: boolean }
}

const CFS_PERIOD_US = 100_000
const V2_DESCENDANTS_MAX = 2_048

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
  v2: null,
  v2Controllers: new Set(),
  enforced: { memory: false, pids: false, cpu: false }
}

/**
 * Finds the hierarchies, and when they are to be used makes our directory in each; `instance` keeps two services on one host apart.
 */
export const detectCgroups = (instance: string, use: boolean): CgroupHost => {
  const v1: Partial<Record<Controller, string>> = {}
  let v2: string | null = null
  const v2Controllers = new Set<string>()
  for (const line of readFileSync("/proc/self/mounts", "latin1").split("\n")) {
    const [, path, type, options] = line.split(" ")
    if (path === undefined || options === undefined || !writable(path)) continue
    const own = join(path, instance)
    try {
      if (type === "cgroup") {
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
      // Mounted, but not ours to use.
    }
  }
  const has = (controller: Controller) => v1[controller] !== undefined || v2Controllers.has(controller)
  return { v1, v2, v2Controllers, enforced: { memory: has("memory"), pids: has("pids"), cpu: has("cpu") } }
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
      // In use above us.
      return false
    }
  })

export interface SandboxCgroups {
  /** `cgroup.procs` (v1: `tasks` is not used) files that the launcher writes itself into before it drops its privileges. */
  readonly joins: ReadonlyArray<string>
  /** The directory to delegate, or null. */
  readonly delegated: string | null
}

const folders = (host: CgroupHost, name: string): ReadonlyArray<string> => [
  ...new Set(Object.values(host.v1).map((path) => join(path, name))),
  ...(host.v2 === null ? [] : [join(host.v2, name)])
]

/** Makes the Sandbox's cgroups with their limits; `owner` may use the delegated one. */
export const makeCgroups = async (
  host: CgroupHost,
  name: string,
  limits: CgroupLimits,
  owner: number
): Promise<SandboxCgroups> => {
  const v1Limits: ReadonlyArray<readonly [Controller, string, number]> = [
    ["memory", "memory.limit_in_bytes", limits.memoryBytes],
    // Without swap accounting this file is missing, and there is nothing to limit.
    ["memory", "memory.memsw.limit_in_bytes", limits.memoryBytes],
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
  const joins = new Set<string>()
  for (const path of new Set(Object.values(host.v1))) {
    mkdirSync(join(path, name), { recursive: true })
    joins.add(join(path, name, "cgroup.procs"))
  }
  for (const [controller, file, value] of v1Limits) {
    const path = host.v1[controller]
    if (path === undefined || !existsSync(join(path, name, file))) continue
    writeFileSync(join(path, name, file), String(value))
  }
  if (host.v2 === null) return { joins: [...joins], delegated: null }
  const own = join(host.v2, name)
  const delegated = join(own, "tree")
  mkdirSync(delegated, { recursive: true })
  for (const [controller, file, value] of v2Limits) {
    if (host.v2Controllers.has(controller) && existsSync(join(own, file))) writeFileSync(join(own, file), value)
  }
  writeFileSync(join(own, "cgroup.max.descendants"), String(V2_DESCENDANTS_MAX))
  for (const path of [delegated, join(delegated, "cgroup.procs"), join(delegated, "cgroup.threads")]) {
    await chown(path, owner, owner)
  }
  joins.add(join(delegated, "cgroup.procs"))
  return { joins: [...joins], delegated }
}

/** Kills whatever is left in them and removes them. True when none is left. */
export const removeCgroups = (host: CgroupHost, name: string): boolean => {
  if (host.v2 !== null) {
    try {
      writeFileSync(join(host.v2, name, "cgroup.kill"), "1")
    } catch {
      // Not there, or a kernel before 5.14: the processes were killed by the death of their init.
    }
  }
  return folders(host, name).map(removeTree).every(Boolean)
}

/** Removes this instance's own, empty directories. */
export const releaseCgroups = (host: CgroupHost): void => {
  for (const path of new Set([...Object.values(host.v1), ...(host.v2 === null ? [] : [host.v2])])) removeTree(path)
}

/** All pids in the Sandbox's cgroups. */
export const cgroupPids = (host: CgroupHost, name: string): ReadonlyArray<number> => [
  ...new Set(folders(host, name).flatMap(pidsBelow))
]

const subfolders = (path: string): ReadonlyArray<string> => {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((it) => it.isDirectory())
      .map((it) => join(path, it.name))
  } catch {
    return []
  }
}

const pidsBelow = (path: string): ReadonlyArray<number> => {
  const below = subfolders(path).flatMap(pidsBelow)
  try {
    return [...readFileSync(join(path, "cgroup.procs"), "latin1").split("\n").filter(Boolean).map(Number), ...below]
  } catch {
    return below
  }
}

const removeTree = (path: string): boolean => {
  for (const child of subfolders(path)) removeTree(child)
  try {
    rmdirSync(path)
    return true
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === "ENOENT"
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

/** What cannot be reclaimed at once: use without inactive file pages. */
export const cgroupMemoryBytes = (host: CgroupHost, name: string): number | null => {
  const [folder, use, inactive] =
    host.v1.memory !== undefined
      ? [join(host.v1.memory, name), "memory.usage_in_bytes", "total_inactive_file"]
      : [join(host.v2 ?? "", name), "memory.current", "inactive_file"]
  const total = number(join(folder, use))
  return total === null ? null : Math.max(0, total - (field(join(folder, "memory.stat"), inactive) ?? 0))
}

/** How many processes of the Sandbox the kernel killed for want of memory. */
export const cgroupOomKills = (host: CgroupHost, name: string): number =>
  (host.v1.memory === undefined
    ? field(join(host.v2 ?? "", name, "memory.events"), "oom_kill")
    : field(join(host.v1.memory, name, "memory.oom_control"), "oom_kill")) ?? 0
