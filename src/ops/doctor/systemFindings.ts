/** Checks the machine and this process: Node, user, clock, locale, memory, disk, open files. */
import { constants, readFileSync, statSync } from "node:fs"
import { access, statfs } from "node:fs/promises"
import { totalmem } from "node:os"
import type { SettingsShape } from "../../Config.ts"
import { nearestFolder } from "../../host/linux/nearestFolder.ts"
import { type Finding, fine, limited, missing } from "./Finding.ts"

/** Older versions need a flag for TypeScript. */
const oldestNode = [22, 18] as const
const filesMin = 4096

export const nodeFinding = (version: string): Finding => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const isNew = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  return isNew
    ? fine("node", `Node ${version}.`)
    : missing("node", `Node ${version} is too old.`, "Start Atoll by npm run up, which brings Node 24.")
}

export const userFinding = (uid: number | undefined): Finding =>
  uid === 0
    ? fine("user", "Atoll runs as root, and every Sandbox as its own user.")
    : limited(
        "user",
        "Atoll is not root: Sandboxes share its user, and their limits are not enforced.",
        "Start it as root: sudo -E npm run up"
      )

/** @param notBeforeMs A time in the past: that of an installed file. */
export const clockFinding = (now: number, notBeforeMs: number): Finding =>
  now >= notBeforeMs
    ? fine("clock", `The clock says ${new Date(now).toISOString()}.`)
    : missing(
        "clock",
        `The clock says ${new Date(now).toISOString()}, which is before Atoll was installed.`,
        "timedatectl set-ntp true"
      )

/** @param locale As in the environment; undefined when unset. */
export const localeFinding = (locale: string | undefined): Finding =>
  locale === undefined || locale === "" || /^(C|POSIX)$|utf-?8$/i.test(locale)
    ? fine("locale", locale ? `The locale is ${locale}.` : "No locale is set, and none is needed.")
    : limited(
        "locale",
        `The locale ${locale} is not UTF-8: names of files may look wrong in messages.`,
        "export LC_ALL=C.UTF-8"
      )

export const filesFinding = (limits: string): Finding => {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1] ?? "unlimited"
  return soft === "unlimited" || Number(soft) >= filesMin
    ? fine("open files", `This process may open ${soft} files.`)
    : limited("open files", `This process may open ${soft} files, and each connection is one.`, "ulimit -n 65536")
}

const gibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`

export const memoryFinding = (totalBytes: number, perSandboxBytes: number): Finding =>
  totalBytes >= 2 * perSandboxBytes
    ? fine("memory", `The host has ${gibibytes(totalBytes)} of memory, a Sandbox ${gibibytes(perSandboxBytes)}.`)
    : limited(
        "memory",
        `The host has ${gibibytes(totalBytes)} of memory, and one Sandbox may use ${gibibytes(perSandboxBytes)} of it.`,
        "Lower ATOLL_SANDBOX_MEMORY_BYTES, or give the host more memory."
      )

export const diskFinding = async ({
  dataDir,
  diskReserveBytes,
  volumeBytes
}: Pick<SettingsShape, "dataDir" | "diskReserveBytes" | "volumeBytes">): Promise<Finding> => {
  const folder = nearestFolder(dataDir)
  const isOurs = await access(folder, constants.W_OK).then(
    () => true,
    () => false
  )
  if (!isOurs)
    return missing(
      "disk",
      `${folder} cannot be written to.`,
      "Set ATOLL_DATA_DIR to a folder of this user, or run as its owner."
    )
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  return free >= diskReserveBytes + volumeBytes
    ? fine("disk", `${gibibytes(free)} are free for ${dataDir}.`)
    : limited(
        "disk",
        `${gibibytes(free)} are free for ${dataDir}: less than a reserve of ${gibibytes(diskReserveBytes)} and one volume of ${gibibytes(volumeBytes)}.`,
        "Set ATOLL_DATA_DIR to a larger disk, or lower ATOLL_VOLUME_BYTES."
      )
}

const readIfThere = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

/** The time of the installation. */
const installedAtMs = (): number => statSync(new URL("../../../package.json", import.meta.url)).mtimeMs

export const systemFindings = async (settings: SettingsShape): Promise<ReadonlyArray<Finding>> => [
  nodeFinding(process.versions.node),
  userFinding(process.getuid?.()),
  clockFinding(Date.now(), installedAtMs()),
  localeFinding(process.env["LC_ALL"] || process.env["LC_CTYPE"] || process.env["LANG"]),
  filesFinding(readIfThere("/proc/self/limits")),
  memoryFinding(totalmem(), settings.sandboxMemoryBytes),
  await diskFinding(settings)
]
