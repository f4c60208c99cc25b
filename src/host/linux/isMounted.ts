/** Whether something is mounted on a folder, as this process sees it. @source proc_pid_mountinfo(5) */
import { existsSync, readFileSync, realpathSync } from "node:fs"

export const isMounted = (folder: string): boolean => {
  const path = existsSync(folder) ? realpathSync(folder) : folder
  // mountinfo writes spaces and similar characters in octal.
  const written = path.replace(/[\s\\]/g, (it) => `\\${it.charCodeAt(0).toString(8).padStart(3, "0")}`)
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .some((line) => line.split(" ")[4] === written)
}
