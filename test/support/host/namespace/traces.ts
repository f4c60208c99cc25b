/** What a namespace driver may leave on the host, found without its help. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs"
import { join } from "node:path"

/** The name that the driver of this data folder uses all over the host. */
export const instanceOf = (dataDir: string): string =>
  `atoll-${createHash("sha256")
    .update(join(realpathSync(dataDir), "runtime", "namespace"))
    .digest("hex")
    .slice(0, 12)}`

/** Pids of every process that the driver started, and of those inside its Sandboxes. */
export const processesOf = (instance: string): ReadonlyArray<number> => {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`ATOLL_SANDBOX=${instance}/`)
    } catch {
      return false
    }
  })
}

const PATIENCE_MS = 20_000

/** Where all Atolls of this host record the owner of a user. */
const USERS = "/var/lib/atoll-users"

const ownerOf = (uid: string): string => {
  try {
    return readlinkSync(join(USERS, uid))
  } catch {
    // Released meanwhile.
    return ""
  }
}

const hierarchies = (): ReadonlyArray<string> =>
  readFileSync("/proc/self/mounts", "latin1")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, , type]) => type === "cgroup" || type === "cgroup2")
    .map(([, path]) => path!)

/** Empty: the device was released since it was listed, which may happen to another test's at any time. */
const backingFile = (path: string): string => {
  try {
    return readFileSync(path, "latin1")
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT" || (thrown as NodeJS.ErrnoException).code === "ENXIO")
      return ""
    throw thrown
  }
}

/** Everything of the driver's that exists now, one line each. */
const tracesOf = (dataDir: string): ReadonlyArray<string> => {
  const instance = instanceOf(dataDir)
  // Other processes may remove an entry between its listing and its reading.
  const entriesOf = (path: string) => {
    try {
      return readdirSync(path, { withFileTypes: true })
    } catch {
      return []
    }
  }
  const mounts = readFileSync("/proc/self/mounts", "latin1")
    .split("\n")
    .filter((line) => line.includes(instance))
  const cgroups = hierarchies()
    .map((path) => join(path, instance))
    .flatMap((path) =>
      entriesOf(path)
        .filter((it) => it.isDirectory())
        .map((it) => join(path, it.name))
    )
  const loops = existsSync("/sys/block")
    ? readdirSync("/sys/block")
        .filter((it) => it.startsWith("loop"))
        .map((it) => join("/sys/block", it, "loop/backing_file"))
        .filter((it) => backingFile(it).includes(realpathSync(dataDir)))
    : []
  const state = join(realpathSync(dataDir), "runtime", "namespace")
  const folders = entriesOf(state).flatMap(({ name }) => (name.startsWith(".") ? [] : [name]))
  const uids = entriesOf(USERS).flatMap(({ name }) => (ownerOf(name).startsWith(`${state}/`) ? [name] : []))
  return [
    ...processesOf(instance).map((pid) => `process ${pid}`),
    ...mounts.map((it) => `mount ${it}`),
    ...cgroups.map((it) => `cgroup ${it}`),
    ...loops.map((it) => `loop ${it}`),
    ...folders.map((it) => `folder ${it}`),
    ...uids.map((it) => `uid ${it}`)
  ]
}

/**
 * The same, except for loop devices that the kernel is still releasing: a mount namespace that was copied while the
 * device was mounted holds it, which a Sandbox that another test starts does for a moment.
 */
export const lastingTracesOf = async (dataDir: string): Promise<ReadonlyArray<string>> => {
  const patientUntil = Date.now() + PATIENCE_MS
  let traces = tracesOf(dataDir)
  while (traces.length > 0 && traces.every((it) => it.startsWith("loop ")) && Date.now() < patientUntil) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    traces = tracesOf(dataDir)
  }
  return traces
}
