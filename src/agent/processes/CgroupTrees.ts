/**
 * Process trees as threaded cgroup v2 directories below a directory delegated to the agent.
 *
 * Node cannot place a child in a cgroup, but a child starts in the cgroup of the thread that forks it. So the agent's main thread moves into the
 * directory, spawns, and moves back, in one turn of the event loop. The directories are of type `threaded`, because a thread that moves only itself
 * takes no lock: measured 0.06 ms, where moving a whole process waits 13 ms for the kernel's RCU after every idle moment. Threaded directories have
 * no `cgroup.kill`. A frozen one cannot fork, so freezing it and then killing all listed threads is as exact.
 *
 * @source Linux Documentation/admin-guide/cgroup-v2.rst, "Threads", "Delegation", "cgroup.freeze"
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ProcessTree, type ProcessTrees, signalPid } from "./ProcessTree.ts"

/** Bounds the signals of one step. */
const KILLS_MAX = 256
/** Most commands have ended by then. */
const SPARE_AFTER_MS = 300

/** Null when the directory is not a delegated, writable cgroup v2. */
export const makeCgroupTrees = (given: string): ProcessTrees | null => {
  // If controllers were enabled for the children of `given`, those cannot be threaded, but their children can.
  const root = [given, join(given, "commands")].find(settleIn)
  if (root === undefined) return null
  const own = new Set([process.pid, 1])
  const live = new Set<string>()
  let created = 0
  endLeftBehind(root, own)

  /** The threads of processes that moved themselves out of their command's cgroup: up, or into one that they made. */
  const strayThreads = (): ReadonlyArray<number> => {
    const outside = childNames(root).filter((name) => !live.has(name))
    const ownThreads = new Set(childNames("/proc/self/task").map(Number))
    return [...readThreads(root), ...outside.flatMap((name) => readTree(join(root, name)))].filter(
      (thread) => !ownThreads.has(thread)
    )
  }

  /**
   * Sends KILL to a bounded number of threads that did not get it yet; to all again once all had it. A signal to any thread kills its whole process,
   * so nothing needs to be read about them: in a machine that a fork bomb holds, each read is slow.
   */
  const killSome = (threads: ReadonlyArray<number>, hit: Set<number>): void => {
    const fresh = threads.filter((thread) => !own.has(thread) && !hit.has(thread))
    for (const thread of fresh.slice(0, KILLS_MAX)) {
      signalPid(thread, "SIGKILL")
      hit.add(thread)
    }
    if (fresh.length <= KILLS_MAX) hit.clear()
  }

  const make = (): string => {
    const name = `command-${process.pid}-${created++}`
    makeThreaded(join(root, name))
    return name
  }
  // Reuses the directory of a command that ended by itself: making and removing directories costs more than all the rest.
  let spare: string | null = null
  const makeSpare = () => {
    try {
      spare ??= make()
    } catch {
      // The next command makes its own directory and reports the error.
    }
  }
  setImmediate(makeSpare)
  /** Where the last command goes on. In a machine that was just restored under emulation a directory takes 20 ms. */
  const spareSoon = setTimeout(makeSpare, SPARE_AFTER_MS).unref()

  const create = (): ProcessTree => {
    const name = spare ?? make()
    spare = null
    spareSoon.refresh()
    const folder = join(root, name)
    live.add(name)
    let killed = false
    const hit = new Set<number>()
    const pids = () => processesOf(readTree(folder)).filter((pid) => !own.has(pid))
    return {
      threadsFile: threadsFile(folder),
      name,
      wrap: (argv) => argv,
      enter: (spawn) => {
        enterThread(folder)
        try {
          return spawn()
        } finally {
          enterThread(root)
        }
      },
      began: () => {},
      members: pids,
      isEmpty: () => !isPopulated(folder),
      terminate: () => {
        for (const pid of pids()) {
          signalPid(pid, "SIGTERM")
          signalPid(pid, "SIGCONT")
        }
      },
      kill: () => {
        killed = true
        try {
          writeFileSync(join(folder, "cgroup.freeze"), "1")
        } catch {
          // Kernels before 5.2 cannot freeze; repeated kills still succeed.
        }
        killSome([...readTree(folder), ...strayThreads()], hit)
        return !isPopulated(folder)
      },
      dispose: () => {
        live.delete(name)
        // A killed directory is frozen, and one in which a command made directories is not as new.
        if (!killed && spare === null && isAsMade(folder)) spare = name
        // Deferred until the end of the command has been reported.
        else setImmediate(() => removeTree(folder))
      }
    }
  }
  /** The outermost directory of a command: directories that a command made below its own belong to it. */
  const nameOf = (pid: number): string | null => {
    try {
      const [, path = ""] = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "latin1")) ?? []
      return path.split("/").find((part) => live.has(part)) ?? null
    } catch {
      return null
    }
  }
  return { mechanism: "cgroup", threadsFile: threadsFile(root), create, nameOf, own }
}

/** Ends the commands of an earlier agent. The service learned that their outcome is unknown, and a repeated start must not run beside the first one. */
const endLeftBehind = (root: string, own: ReadonlySet<number>): void => {
  for (const name of childNames(root)) {
    const folder = join(root, name)
    try {
      writeFileSync(join(folder, "cgroup.freeze"), "1")
    } catch {
      // Kernels before 5.2 cannot freeze.
    }
    for (const pid of processesOf(readTree(folder))) if (!own.has(pid)) signalPid(pid, "SIGKILL")
    removeTree(folder)
  }
}

/** Moves the agent into the directory, unless it is there already, and tests whether the directory can have threaded children. */
const settleIn = (root: string): boolean => {
  const trial = join(root, `trial-${process.pid}`)
  try {
    mkdirSync(root, { recursive: true })
    // Moving a process is slow, and the driver may have started the agent here.
    if (!readNumbers(join(root, "cgroup.procs")).includes(process.pid)) {
      writeFileSync(join(root, "cgroup.procs"), "0")
    }
    makeThreaded(trial)
    enterThread(trial)
    enterThread(root)
    return true
  } catch {
    return false
  } finally {
    removeTree(trial)
  }
}

const makeThreaded = (folder: string): void => {
  mkdirSync(folder)
  writeFileSync(join(folder, "cgroup.type"), "threaded")
}

/** The directory has no subdirectories; each would count as a link. */
const isAsMade = (folder: string): boolean => {
  try {
    return statSync(folder).nlink === 2
  } catch {
    return false
  }
}

const threadsFile = (folder: string): string => join(folder, "cgroup.threads")

/** "0" means the writing thread; a synchronous write is made by the main thread. */
const enterThread = (folder: string): void => writeFileSync(threadsFile(folder), "0")

const readNumbers = (path: string): ReadonlyArray<number> => {
  try {
    return readFileSync(path, "latin1").split("\n").filter(Boolean).map(Number).filter(Boolean)
  } catch {
    return []
  }
}

const readThreads = (folder: string): ReadonlyArray<number> => readNumbers(threadsFile(folder))

const childNames = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch {
    return []
  }
}

/** Threads of the directory and of every directory that a command made below it. */
const readTree = (folder: string): ReadonlyArray<number> => [
  ...readThreads(folder),
  ...childNames(folder).flatMap((name) => readTree(join(folder, name)))
]

/** The kernel's own count of the directory and everything below. A list could miss a process that forks while it is read. */
const isPopulated = (folder: string): boolean => {
  try {
    return /^populated 1$/m.test(readFileSync(join(folder, "cgroup.events"), "latin1"))
  } catch {
    return false
  }
}

/** The processes that these threads belong to. */
const processesOf = (threads: ReadonlyArray<number>): ReadonlyArray<number> => {
  const found = new Set<number>()
  for (const thread of threads) {
    try {
      // 0: it was reaped between the opening of the file and the read.
      const group = /^Tgid:\s+([1-9]\d*)$/m.exec(readFileSync(`/proc/${thread}/status`, "latin1"))
      if (group !== null) found.add(Number(group[1]))
    } catch {
      // It ended in between.
    }
  }
  return [...found]
}

const removeTree = (folder: string): void => {
  for (const name of childNames(folder)) removeTree(join(folder, name))
  try {
    rmdirSync(folder)
  } catch {
    // Still populated, or gone already; the driver removes the rest with the Sandbox.
  }
}
