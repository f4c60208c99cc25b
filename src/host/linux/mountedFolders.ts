/** What is mounted in the mount namespaces of all processes. @source proc_pid_mountinfo(5), field 4 */
import { open, readlink } from "node:fs/promises"
import { basename } from "node:path"
import { allPids } from "./ProcessIdentity.ts"

/** A Sandbox that builds can add mounts without end; the driver's own come first. */
const MOUNTS_MAX_BYTES = 1024 * 1024

/** The names of the folders and files that are mounted somewhere. Null where this process may not look into every other one. */
export const mountedFolders = async (): Promise<ReadonlySet<string> | null> => {
  const seen = new Set<string>()
  const names = new Set<string>()
  for (const pid of allPids()) {
    try {
      const namespace = await readlink(`/proc/${pid}/ns/mnt`)
      if (seen.has(namespace)) continue
      for (const line of (await mountsOf(pid)).split("\n")) names.add(basename(line.split(" ", 4)[3] ?? ""))
      // Only now: a process that ends meanwhile shows nothing.
      seen.add(namespace)
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === "EACCES" || code === "EPERM") return null
      if (!HAS_ENDED.includes(code)) throw cause
    }
  }
  return names
}

/** A zombie has no mounts: EINVAL. */
const HAS_ENDED: ReadonlyArray<string | undefined> = ["ENOENT", "ESRCH", "EINVAL"]

const mountsOf = async (pid: number): Promise<string> => {
  const file = await open(`/proc/${pid}/mountinfo`)
  try {
    const bytes = Buffer.allocUnsafe(MOUNTS_MAX_BYTES)
    let filled = 0
    for (let count = 1; count !== 0; filled += count)
      count = (await file.read(bytes, filled, bytes.length - filled, null)).bytesRead
    return bytes.toString("latin1", 0, filled)
  } finally {
    await file.close()
  }
}
