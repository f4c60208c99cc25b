/**
 * One command and all its descendants, even after setsid, a double fork or a cleared environment.
 *
 * One of two mechanisms, chosen once at start. A cgroup v2 directory per command is exact, and the kernel can stop it immediately (`CgroupTrees`).
 * Without one, a limit that no program uses marks every descendant (`MarkedTrees`).
 */
export interface ProcessTree {
  /** A file: writing "0" to it moves the writing thread into the tree. Null where trees are not cgroups. */
  readonly threadsFile: string | null
  /** Unique until this tree is disposed of. */
  readonly name: string
  /** The command line to execute instead of `argv`, which marks the tree. */
  readonly wrap: (argv: ReadonlyArray<string>) => ReadonlyArray<string>
  /** Runs a synchronous spawn so that its child belongs to this tree before it can fork. */
  readonly enter: <A extends { readonly pid?: number | undefined }>(spawn: () => A) => A
  /** Reports the tree's first process where it is not the agent's own child; for own children use `enter`. */
  readonly began: (pid: number) => void
  /** The processes in the tree now; empty where that cannot be found cheaply. */
  readonly members: () => ReadonlyArray<number>
  /** True when the tree has no process left; zombies do not count. */
  readonly isEmpty: () => boolean
  /** Sends TERM (and CONT, for those that are stopped) to every process of the tree. */
  readonly terminate: () => void
  /** Stops the tree from growing and kills a bounded number of its processes. True when none is left; call it again until then. */
  readonly kill: () => boolean
  /** Releases the tree's resources; only once it is empty. */
  readonly dispose: () => void
}

export interface ProcessTrees {
  readonly mechanism: "cgroup" | "mark"
  /** The agent's own `threadsFile`. */
  readonly threadsFile: string | null
  readonly create: () => ProcessTree
  /** The name of the tree that a process is in; null when it is in none, or has ended. */
  readonly nameOf: (pid: number) => string | null
  /** Pids of the agent itself, including its own short-lived programs; never killed or listed. */
  readonly own: Set<number>
}

/**
 * True when the signal was delivered. A process that is gone or belongs to another user is no error. For one that it has just reaped the kernel may
 * say the pid 0, which kill(2) takes for the agent's own group.
 */
export const signalPid = (pid: number, signal: NodeJS.Signals): boolean => {
  if (pid <= 0) return false
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
