/**
 * Read-only mounts that show programs inside a Sandbox its own limits instead of the host's: its cgroup files where runtimes look for them (V8, the
 * JVM, Go and .NET size their heaps and pools by these), and, where lxcfs runs on this host, the /proc files that `free` and `top` read.
 *
 * @source cgroups(7); lxcfs(1); libuv's uv_get_constrained_memory, which reads /sys/fs/cgroup/<controller>/<path in /proc/self/cgroup>
 */
import { readFileSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { CgroupHost } from "./cgroups.ts"

/** One read-only bind mount. */
export interface View {
  readonly from: string
  readonly to: string
}

const isThere = (path: string): boolean => {
  try {
    statSync(path)
    return true
  } catch {
    // A dead lxcfs answers ENOTCONN.
    return false
  }
}

/** Shows one Sandbox's cgroups at the paths where the whole system's cgroups would be. */
export const cgroupViews = (host: CgroupHost, name: string): ReadonlyArray<View> => {
  const place = (own: string) => `/sys/fs/cgroup/${basename(dirname(own))}`
  const v1 = [...new Set(Object.values(host.v1))].map((own) => ({ from: join(own, name), to: place(own) }))
  if (v1.length > 0) return host.cpuset === null ? v1 : [...v1, { from: host.cpuset, to: place(host.cpuset) }]
  return host.v2 === null || host.v2Controllers.size === 0 ? [] : [{ from: join(host.v2, name), to: "/sys/fs/cgroup" }]
}

const LXCFS_FILES = ["cpuinfo", "loadavg", "meminfo", "stat", "swaps", "uptime"]

/** lxcfs answers each reader by the reader's cgroups. Empty where lxcfs does not run. */
export const lxcfsViews = (mount = "/var/lib/lxcfs"): ReadonlyArray<View> => {
  if (!readFileSync("/proc/self/mounts", "latin1").includes(` ${mount} fuse.lxcfs `)) return []
  const views = [
    ...LXCFS_FILES.map((name) => ({ from: join(mount, "proc", name), to: `/proc/${name}` })),
    { from: join(mount, "sys/devices/system/cpu"), to: "/sys/devices/system/cpu" }
  ]
  return views.filter(({ from }) => isThere(from))
}
