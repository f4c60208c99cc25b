/** What is mounted in this process's mount namespace. @source proc(5) "/proc/pid/mountinfo" */
import { existsSync, readFileSync, realpathSync } from "node:fs"

/** The fields of the mount at this folder: those before the separator and those after it; null when nothing is mounted there. */
const mountAt = (folder: string) => {
  const path = existsSync(folder) ? realpathSync(folder) : folder
  // mountinfo writes spaces and similar characters in octal.
  const written = path.replace(/[\s\\]/g, (it) => `\\${it.charCodeAt(0).toString(8).padStart(3, "0")}`)
  const line = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .findLast((it) => it.split(" ")[4] === written)
  if (line === undefined) return null
  const [before = "", after = ""] = line.split(" - ")
  return { before: before.split(" "), after: after.split(" ") }
}

export const isMounted = (folder: string): boolean => mountAt(folder) !== null

/** The options of the mount at this folder; null when nothing is mounted there. */
export const mountOptionsOf = (folder: string): ReadonlyArray<string> | null =>
  mountAt(folder)?.before[5]?.split(",") ?? null

/** The device that is mounted at this folder; null when nothing is. */
export const mountedDevice = (folder: string): string | null => mountAt(folder)?.after[1] ?? null
