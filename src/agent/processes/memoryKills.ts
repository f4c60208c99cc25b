/**
 * Counts the processes of this Sandbox that the kernel killed because memory ran out. Without it, such a command looks like one that a user killed.
 *
 * @source Linux Documentation/admin-guide/cgroup-v2.rst memory.events, cgroup-v1/memory.rst memory.oom_control: a line `oom_kill N` in both
 */
import { readFileSync } from "node:fs"

/** The cgroup of all commands: a VM's, a namespace Sandbox's by cgroup v1, by v2. */
const PLACES = [
  "/sys/fs/cgroup/sandbox/memory.events",
  "/sys/fs/cgroup/memory/memory.oom_control",
  "/sys/fs/cgroup/memory.events"
]

const read = (path: string): number | null => {
  try {
    const found = /^oom_kill (\d+)$/m.exec(readFileSync(path, "latin1"))
    return found === null ? null : Number(found[1])
  } catch {
    return null
  }
}

/** A counter; always 0 where the kernel counts nothing. */
export const memoryKillCounter = (places: ReadonlyArray<string> = PLACES): (() => number) => {
  const place = places.find((path) => read(path) !== null)
  return place === undefined ? () => 0 : () => read(place) ?? 0
}
