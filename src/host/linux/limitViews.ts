/**
 * What shows programs inside a Sandbox the limits that it has, instead of the whole host: its cgroups' own files where runtimes look for them
 * (V8, the JVM, Go, .NET size their heaps and pools by these), and, where lxcfs runs on this host, /proc as `free` and `top` read it.
 *
 * @source cgroups(7); lxcfs(1); libuv's uv_get_constrained_memory, which reads /sys/fs/cgroup/<controller>/<path in /proc/self/cgroup>
 */
import { readFileSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { CgroupHost } from "./cgroups.ts"

/** One read-only bind. */
export interface View {
  readonly from: string
  readonly to: string
}

const isThere = (path: string): boolean => {
  try {
    statSync(path)
    return true
  } catch {
    // Of lxcfs too: one that died answers ENOTCONN.
    return false
  }
}

/** The cgroups of one Sandbox at the places where the whole system's would be. */
export const cgroupViews = (host: CgroupHost, name: string): ReadonlyArray<View> => {
  const place = (own: string) => `/sys/fs/cgroup/${basename(dirname(own))}`
  const v1 = [...new Set(Object.values(host.v1))].map((own) => ({ from: join(own, name), to: place(own) }))
  if (v1.length > 0) return host.cpuset === null ? v1 : [...v1, { from: host.cpuset, to: place(host.cpuset) }]
  return host.v2 === null || host.v2Controllers.size === 0 ? [] : [{ from: join(host.v2, name), to: "/sys/fs/cgroup" }]
}

const LXCFS_FILES = ["cpuinfo", "loadavg", "meminfo", "stat", "swaps", "uptime"]

/** lxcfs answers each reader by its cgroups. Nothing where it does not run. */
export const lxcfsViews = (mount = "/var/lib/lxcfs"): ReadonlyArray<View> => {
  if (!readFileSync("/proc/self/mounts", "latin1").includes(` ${mount} fuse.lxcfs `)) return []
  const views = [
    ...LXCFS_FILES.map((name) => ({ from: join(mount, "proc", name), to: `/proc/${name}` })),
    { from: join(mount, "sys/devices/system/cpu"), to: "/sys/devices/system/cpu" }
  ]
  return views.filter(({ from }) => isThere(from))
}
