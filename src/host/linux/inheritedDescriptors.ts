/**
 * Descriptors that the service was itself started with and that would pass on to everything that it starts. Node opens its own with
 * close-on-exec. A child cannot be told to close one, only to put another in its place.
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

/** As they were when this was first asked for. */
export const inheritedDescriptors: ReadonlyArray<number> = readdirSync("/proc/self/fdinfo")
  .map(Number)
  .filter((fd) => fd > 2 && !closesOnExec(fd))
