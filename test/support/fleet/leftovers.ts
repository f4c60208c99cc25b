/** What a fleet leaves on this machine, found by the folder of all its members; and its removal. */
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync, unlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { allPids, identify } from "../../../src/host/linux/ProcessIdentity.ts"
import { HostLayout } from "../../../src/host/namespace/HostLayout.ts"
import { instanceOf } from "../../../src/host/qemu/instanceOf.ts"

export const folderPrefix = "atoll-fleet-"
const users = "/var/lib/atoll-users"
const cgroups = "/sys/fs/cgroup"

const entries = (folder: string): ReadonlyArray<string> => (existsSync(folder) ? readdirSync(folder) : [])

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

/** Of the hosts whose data folders are in `folder`: the names that their processes, mounts and cgroups have. */
const instancesOf = (folder: string): ReadonlyArray<string> =>
  entries(folder)
    .map((name) => join(folder, name))
    .flatMap((dataDir) => {
      const machines = join(dataDir, "runtime", "qemu")
      return [
        ...(existsSync(join(dataDir, "runtime", "namespace")) ? [HostLayout.at(dataDir).instance] : []),
        ...(existsSync(machines) ? [instanceOf(machines)] : [])
      ]
    })

const pidsOf = (isOf: (text: string) => boolean): ReadonlyArray<number> =>
  allPids().filter((pid) => {
    if (pid === process.pid) return false
    const command = textOf(`/proc/${pid}/cmdline`)
    if (command === "") return false
    return isOf(command) || isOf(textOf(`/proc/${pid}/cgroup`)) || isOf(textOf(`/proc/${pid}/environ`))
  })

const mountsOf = (isOf: (text: string) => boolean): ReadonlyArray<string> =>
  textOf("/proc/self/mounts")
    .split("\n")
    .filter(isOf)
    .map((line) => line.split(" ")[1]!)

const loopsOf = (folder: string): ReadonlyArray<string> =>
  entries("/sys/block").filter((name) => textOf(`/sys/block/${name}/loop/backing_file`).startsWith(folder))

const usersOf = (folder: string): ReadonlyArray<string> =>
  entries(users).filter((uid) => {
    try {
      return readlinkSync(join(users, uid)).startsWith(`${folder}/`)
    } catch {
      return false
    }
  })

const cgroupsOf = (instances: ReadonlyArray<string>): ReadonlyArray<string> =>
  ["", ...entries(cgroups)].flatMap((hierarchy) =>
    instances.map((instance) => join(cgroups, hierarchy, instance)).filter((path) => existsSync(path))
  )

const belongsTo = (folder: string, instances: ReadonlyArray<string>) => (text: string) =>
  text.includes(`${folder}/`) || instances.some((instance) => text.includes(`${instance}/`))

/** The fleet's processes, mounts, loop devices and users. */
export const remainsOf = (folder: string): ReadonlyArray<string> => {
  const isOf = belongsTo(folder, instancesOf(folder))
  return [
    ...pidsOf(isOf).map((pid) => `process ${pid}: ${textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ")}`),
    ...mountsOf(isOf).map((at) => `mount ${at}`),
    ...loopsOf(folder).map((name) => `loop device ${name}`),
    ...usersOf(folder).map((uid) => `user ${uid}`)
  ]
}

const attempt = (body: () => void): void => {
  try {
    body()
  } catch {
    // It ended by itself.
  }
}

const removeCgroup = (path: string): void => {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(path, entry.name))
  }
  attempt(() => rmdirSync(path))
}

/** All of it, in any state. */
export const clear = (folder: string): void => {
  const instances = instancesOf(folder)
  const isOf = belongsTo(folder, instances)
  for (let round = 0; round < 20; round++) {
    const pids = pidsOf(isOf)
    if (pids.length === 0) break
    for (const pid of pids) attempt(() => process.kill(pid, "SIGKILL"))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  }
  for (const at of mountsOf(isOf)) attempt(() => execFileSync("umount", ["-l", at], { stdio: "ignore" }))
  for (const name of loopsOf(folder))
    attempt(() => execFileSync("losetup", ["-d", `/dev/${name}`], { stdio: "ignore" }))
  for (const uid of usersOf(folder)) attempt(() => unlinkSync(join(users, uid)))
  for (const path of cgroupsOf(instances)) attempt(() => removeCgroup(path))
  for (const instance of instances) rmSync(join("/run", instance), { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
}

/** `<pid>-<start>-…`: whether that process is gone. */
const isAbandoned = (id: string): boolean => {
  const [pid, startTime] = id.split("-").map(Number)
  return identify(pid!)?.startTime !== startTime
}

/** Of runs that were killed. */
export const clearAbandoned = (): void => {
  for (const name of entries(tmpdir())) {
    if (name.startsWith(folderPrefix) && isAbandoned(name.slice(folderPrefix.length))) clear(join(tmpdir(), name))
  }
}
