/**
 * Process trees without cgroups: each command runs with a unique value of the "file locks" limit.
 *
 * Linux keeps that limit but has not used it since 2.4. It is inherited over fork, exec, setsid and a cleared environment, every user may read it in
 * `/proc/PID/limits`, and only a process that intends to leave its tree would change it. Children of a marked process count too.
 *
 * @source setrlimit(2) RLIMIT_LOCKS, proc(5) /proc/pid/limits
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { ownProgram } from "../ownProgram.ts"
import { type ProcessTree, type ProcessTrees, signalPid } from "./ProcessTree.ts"

const FIRST_MARK = 1_000_000_000
const STOP_PASSES_MAX = 20
const LOOK_PASSES_MAX = 20

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly mark: number | null
}

/** Null when the Sandbox's `sh` cannot set the mark. */
export const makeMarkedTrees = (): ProcessTrees | null => {
  const flag = ["-w", "-x"].find((it) => setsMark(it))
  if (flag === undefined) return null
  const own = new Set([process.pid, 1])
  let unused = FIRST_MARK

  const create = (): ProcessTree => {
    const mark = unused--
    let root: number | null = null
    const pids = () => members(mark, root, own)
    return {
      threadsFile: null,
      name: String(mark),
      wrap: (argv) => [...ownProgram("sh"), "-c", `ulimit ${flag} ${mark}; exec "$@"`, "sh", ...argv],
      enter: (spawn) => {
        const child = spawn()
        root = child.pid ?? null
        return child
      },
      began: (pid) => {
        root = pid
      },
      members: () => [],
      isEmpty: () => pids().length === 0,
      terminate: () => {
        for (const pid of pids()) {
          signalPid(pid, "SIGTERM")
          signalPid(pid, "SIGCONT")
        }
      },
      kill: () => {
        // Stopped processes cannot fork, so the set stops growing before the first of them dies.
        const stopped = new Set<number>()
        for (let pass = 0; pass < STOP_PASSES_MAX; pass++) {
          const fresh = pids().filter((pid) => !stopped.has(pid))
          if (fresh.length === 0) break
          for (const pid of fresh) {
            stopped.add(pid)
            signalPid(pid, "SIGSTOP")
          }
        }
        for (const pid of stopped) signalPid(pid, "SIGKILL")
        return stopped.size === 0
      },
      dispose: () => {}
    }
  }
  const nameOf = (pid: number): string | null => {
    try {
      const mark = markOf(pid)
      return mark === null ? null : String(mark)
    } catch {
      return null
    }
  }
  return { mechanism: "mark", threadsFile: null, create, nameOf, own }
}

const setsMark = (flag: string): boolean => {
  const [file, ...args] = ownProgram("sh")
  const script = `ulimit ${flag} 12345 && while IFS= read -r line; do echo "$line"; done < /proc/self/limits`
  const { stdout } = spawnSync(file, [...args, "-c", script], {
    encoding: "latin1",
    stdio: ["ignore", "pipe", "ignore"]
  })
  return /^Max file locks\s+12345\s+12345\s/m.test(stdout ?? "")
}

/**
 * The result counts as empty only if no process vanished during the scan: one that forks and ends between being listed and being read would hide its
 * child.
 */
const members = (mark: number, root: number | null, own: ReadonlySet<number>): ReadonlyArray<number> => {
  for (let pass = 0; ; pass++) {
    const { seen, vanished } = readProcesses()
    const found = select(seen, mark, root, own)
    if (found.length > 0 || vanished === 0 || pass === LOOK_PASSES_MAX) return found
  }
}

/** `root` counts by its pid while it is a child of the agent: between fork and `ulimit` it has no mark yet. */
const select = (
  seen: ReadonlyArray<Seen>,
  mark: number,
  root: number | null,
  own: ReadonlySet<number>
): ReadonlyArray<number> => {
  const others = seen.filter((it) => !own.has(it.pid))
  const found = new Set<number>()
  for (const it of others)
    if (it.mark === mark || (it.pid === root && it.parent !== 1 && own.has(it.parent))) found.add(it.pid)
  for (let grown = true; grown; ) {
    grown = false
    for (const it of others) {
      if (found.has(it.pid) || !found.has(it.parent)) continue
      found.add(it.pid)
      grown = true
    }
  }
  return [...found]
}

/** Null when the kernel has no such limit; throws when the process does not exist. */
const markOf = (pid: number): number | null => {
  const limit = /^Max file locks\s+(\d+)\s/m.exec(readFileSync(`/proc/${pid}/limits`, "latin1"))
  return limit === null ? null : Number(limit[1])
}

const readProcesses = (): { readonly seen: ReadonlyArray<Seen>; readonly vanished: number } => {
  const seen: Array<Seen> = []
  let vanished = 0
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid <= 0) continue
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
      if (fields[0] === "Z" || fields[0] === "X") continue
      seen.push({ pid, parent: Number(fields[1]), mark: markOf(pid) })
    } catch {
      vanished++
    }
  }
  return { seen, vanished }
}
