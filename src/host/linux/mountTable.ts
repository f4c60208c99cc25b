/** What is mounted in this process's mount namespace. @source proc(5) "/proc/pid/mountinfo" */
import { existsSync, readFileSync, realpathSync } from "node:fs"

/** The options of the mount at this folder; null when nothing is mounted there. */
export const mountOptionsOf = (folder: string): ReadonlyArray<string> | null => {
  const path = existsSync(folder) ? realpathSync(folder) : folder
  // mountinfo writes spaces and similar characters in octal.
  const written = path.replace(/[\s\\]/g, (it) => `\\${it.charCodeAt(0).toString(8).padStart(3, "0")}`)
  const line = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((it) => it.split(" "))
    .findLast((fields) => fields[4] === written)
  return line?.[5]?.split(",") ?? null
}
