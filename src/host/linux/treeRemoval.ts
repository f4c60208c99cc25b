/**
 * Removes trees that a guest made, in a child process. The service never walks them, so their size and shape (millions of names, any depth, folders
 * closed to their owner) do not affect it.
 *
 * @source prctl(2) PR_SET_PDEATHSIG; capabilities(7)
 */
import { spawn } from "node:child_process"
import { constants, setPriority } from "node:os"
import { hasSpawner, spawned } from "./HostSpawner.ts"
import { HOST_ENVIRONMENT } from "./hostCommand.ts"
import { identify, signal } from "./ProcessIdentity.ts"
import { quoted } from "./shellQuoted.ts"

/** `rm` holds one record for each level of depth. */
const ADDRESS_SPACE_MAX_BYTES = 512 * 1024 ** 2
/** As root: only the capabilities that are needed to remove files of any user. */
const CAPABILITIES = "--bounding-set=-all,+dac_override,+dac_read_search,+fowner"

/** Without root the guest has the service's user, and may have closed its folders to that user. */
const OPEN_AND_REMOVE = 'chmod -Rf u+rwX -- "$1"; exec rm -rf --one-file-system -- "$1"'

export interface TreeRemoval {
  /** Resolves when the removal has ended, also if it failed: the next removal finds the rest. */
  readonly done: Promise<void>
  /** Kills the removal. Resolves when its process is gone. */
  readonly cancel: () => Promise<void>
}

/**
 * `cgroups`: `cgroup.procs` files to enter first, so that the removal counts toward the limits of the Sandbox that made the tree. The removal ends
 * with this process.
 */
export const removeTree = (path: string, cgroups: ReadonlyArray<string> = []): TreeRemoval => {
  const isRoot = process.getuid?.() === 0
  const limits = ["setpriv", "--pdeathsig=KILL", ...(isRoot ? [CAPABILITIES] : []), "--"]
  const removal = isRoot ? ["rm", "-rf", "--one-file-system", "--", path] : ["sh", "-c", OPEN_AND_REMOVE, "sh", path]
  const command = [...limits, ...["prlimit", `--as=${ADDRESS_SPACE_MAX_BYTES}`, "--core=0", "--"], ...removal]
  const script = [...cgroups.map((file) => `echo 0 > ${quoted(file)}`), 'exec "$@"'].join("\n")
  return (hasSpawner ? bySpawner : byNode)(["/bin/sh", "-c", script, "sh", ...command])
}

/** Others come first. */
const givesWay = (pid: number): void => {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended.
  }
}

const bySpawner = (argv: ReadonlyArray<string>): TreeRemoval => {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const { promise: began, resolve: begins } = Promise.withResolvers<number | null>()
  let isOver = false
  const ends = () => {
    isOver = true
    begins(null)
    resolve()
  }
  const removal = spawned(argv, HOST_ENVIRONMENT, null, {
    started: (pid) => {
      givesWay(pid)
      begins(pid)
    },
    ...{ failed: ends, ended: ends, output: () => {} }
  })
  const cancel = async () => {
    removal.hold()
    const pid = await began
    const it = pid === null || isOver ? null : identify(pid)
    if (it !== null) signal(it, "SIGKILL")
    return done
  }
  return { done, cancel }
}

const byNode = ([file, ...args]: ReadonlyArray<string>): TreeRemoval => {
  const child = spawn(file!, args, { cwd: "/", env: HOST_ENVIRONMENT, stdio: "ignore" })
  child.unref()
  const done = new Promise<void>((resolve) => {
    child.once("error", () => resolve())
    child.once("exit", () => resolve())
  })
  if (child.pid !== undefined) givesWay(child.pid)
  const cancel = () => {
    // `ref`, so that this process does not exit while a caller waits for `done`.
    child.ref()
    child.kill("SIGKILL")
    return done
  }
  return { done, cancel }
}
