/**
 * Cgroups v2 whose processes can stand still. That needs no controller.
 *
 * @source Linux Documentation/admin-guide/cgroup-v2.rst "cgroup.freeze"
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import type { CgroupHost } from "./cgroups.ts"
import { isAlive, type ProcessIdentity } from "./ProcessIdentity.ts"

const STATE = "cgroup.freeze"

/** The folder of the Sandbox's cgroup where the kernel can stop it and `init` is in it, so all that `init` has started; otherwise null. */
export const stoppableGroup = ({ v2 }: CgroupHost, name: string, init: ProcessIdentity): string | null => {
  if (v2 === null || !existsSync(join(v2, name, STATE))) return null
  try {
    const own = `/${basename(v2)}/${name}/`
    const ofInit = readFileSync(`/proc/${init.pid}/cgroup`, "latin1").split("\n")
    const isInside = ofInit.some((line) => line.startsWith("0::") && `${line}/`.includes(own))
    return isInside && isAlive(init) ? join(v2, name) : null
  } catch {
    // It has ended.
    return null
  }
}

/** Lets the processes of a cgroup run that a killed process left standing still. True if they stood still. */
export const letRun = ({ v2 }: Pick<CgroupHost, "v2">, name: string): boolean => {
  if (v2 === null) return false
  const path = join(v2, name, STATE)
  try {
    if (readFileSync(path, "latin1").trim() !== "1") return false
    writeFileSync(path, "0")
    return true
  } catch (cause) {
    // Older than Linux 5.2, or removed with its last process.
    if (["ENOENT", "ENODEV"].includes((cause as NodeJS.ErrnoException).code ?? "")) return false
    throw cause
  }
}
