/**
 * Descriptors that the service inherited and would pass on to every child. Node opens its own with close-on-exec. Node cannot close an inherited one
 * in a child, only replace it.
 */
import { readdirSync, readFileSync } from "node:fs"

const O_CLOEXEC = 0o2000000

const closesOnExec = (fd: number): boolean => {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))
    return flags === null || (Number.parseInt(flags[1]!, 8) & O_CLOEXEC) !== 0
  } catch {
    return true
  }
}

/** Listed once, when this module is loaded. */
export const inheritedDescriptors: ReadonlyArray<number> = readdirSync("/proc/self/fdinfo")
  .map(Number)
  .filter((fd) => fd > 2 && !closesOnExec(fd))
