/**
 * One command and everything that descends from it, wherever it went: setsid, double fork, a cleared environment.
 *
 * Two ways, chosen once at start. A cgroup v2 directory per command is exact and stopped at once by the kernel (`CgroupTrees`).
 * Without one, a limit that no program uses marks every descendant (`MarkedTrees`).
 */
export interface ProcessTree {
  /** The file that takes a thread into the tree by a "0" written to it; null where trees are told by something else. */
  readonly threadsFile: string | null
  /** Of this tree and, as long as it is not disposed of, of no other. */
  readonly name: string
  /** What to execute instead of `argv`, so that the tree can be known. */
  readonly wrap: (argv: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Runs a synchronous spawn so that its child belongs to this tree before it can fork. */
  readonly enter: <A extends { readonly pid?: number | undefined }>(spawn: () => A) => A
  /** The tree's first process is there, and it is not this program's own child: `enter` is for those. */
  readonly began: (pid: number) => void
  /** Who is in the tree now; empty where that cannot be told cheaply. */
  readonly members: () => ReadonlyArray<number>
  /** True when no process of the tree is left; zombies do not count. */
  readonly isEmpty: () => boolean
  /** Sends TERM (and CONT, for those that are stopped) to every process of the tree. */
  readonly terminate: () => void
  /** Stops the tree from growing and kills processes of it, a bounded number at a time. True when none is left; call it again until then. */
  readonly kill: () => boolean
  /** Gives back what the tree holds; only once it is empty. */
  readonly dispose: () => void
}

export interface ProcessTrees {
  readonly mechanism: "cgroup" | "mark"
  /** The agent's own `threadsFile`. */
  readonly threadsFile: string | null
  readonly create: () => ProcessTree
  /** The name of the tree that a process is in; null when it is in none, or has ended. */
  readonly nameOf: (pid: number) => string | null
  /** Pids that belong to the agent itself, its own short-lived programs included; never touched. */
  readonly own: Set<number>
}

/** True when the signal was delivered; a process that is gone or not ours is no error. */
export const signalPid = (pid: number, signal: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
