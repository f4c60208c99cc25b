/**
 * Counts the processes of this Sandbox that the kernel killed because memory ran out. Without it, such a command looks like one that a user killed.
 *
 * @source Linux Documentation/admin-guide/cgroup-v2.rst memory.events, cgroup-v1/memory.rst memory.oom_control: a line `oom_kill N` in both
 */
import { openSync, readSync } from "node:fs"

/** The cgroup of all commands: a VM's, a namespace Sandbox's by cgroup v1, by v2. */
const PLACES = [
  "/sys/fs/cgroup/sandbox/memory.events",
  "/sys/fs/cgroup/memory/memory.oom_control",
  "/sys/fs/cgroup/memory.events"
]

/** More than any of these files has. */
const BYTES = 4096

/** Its text; null where it cannot be read. The file stays open: to open it takes longer than to read it. */
const reader = (path: string): (() => string | null) => {
  const bytes = Buffer.alloc(BYTES)
  let file: number | null = null
  return () => {
    try {
      file ??= openSync(path, "r")
      return bytes.toString("latin1", 0, readSync(file, bytes, 0, BYTES, 0))
    } catch {
      return null
    }
  }
}

const countIn = (text: string | null): number => Number(/^oom_kill (\d+)$/m.exec(text ?? "")?.[1] ?? 0)

/** At each call begins to watch: what it returns tells whether the kernel has killed a process since. Never where the kernel counts nothing. */
export const watchMemoryKills = (places: ReadonlyArray<string> = PLACES): (() => () => boolean) => {
  const read = places.map(reader).find((it) => it()?.includes("oom_kill "))
  if (read === undefined) return () => () => false
  return () => {
    const before = read()
    return () => countIn(read()) > countIn(before)
  }
}
