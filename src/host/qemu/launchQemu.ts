/**
 * Starts QEMU in its own process group, with nothing that it does not need: a separate unprivileged user when the service is root, no capabilities,
 * an empty network namespace, no inherited descriptors, a minimal environment. A Sandbox's QEMU outlives this service.
 */
import { closeSync, openSync, readdirSync, statSync } from "node:fs"
import { Effect } from "effect"
import { attempt } from "../linux/attempt.ts"
import type { SandboxCgroups } from "../linux/cgroups.ts"
import { insideCgroups } from "../linux/enteringCgroups.ts"
import { HOST_ENVIRONMENT, mustRun } from "../linux/hostCommand.ts"
import { makeLifePipe } from "../linux/lifePipe.ts"
import { type ListeningSocket, listeningSocket } from "../linux/listeningSocket.ts"
import type { ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { printable } from "../linux/printable.ts"
import { type DaemonOptions, startDaemon } from "../linux/startDaemon.ts"
import { type Accelerator, Descriptor, machineFiles } from "./machineArguments.ts"

export interface Launch {
  readonly binary: string
  readonly arguments: ReadonlyArray<string>
  /** QEMU's working directory; relative names in its arguments are below it. */
  readonly folder: string
  /** Null: the service's user (it is not root). */
  readonly uid: number | null
  readonly accelerator: Accelerator
  /** The largest size of a file that it writes. */
  readonly fileMaxBytes: number
  /** What `limitFileSize` can raise that to. */
  readonly fileMostBytes: number
  /** Entered before it becomes QEMU. */
  readonly cgroups: Pick<SandboxCgroups, "joins" | "startsIn">
  /** It reads the image in its folder. */
  readonly hasImage: boolean
  /** Keeps the write end of a pipe open for as long as QEMU lives. */
  readonly life: boolean
  /** False: the kernel kills it with this process, for any end of this process. It may also end with the spawner, whose child it is. */
  readonly outlives: boolean
}

export interface Launched {
  readonly process: ProcessIdentity
  /** Read end of the life pipe; the caller closes it. */
  readonly lifeFd: number | null
  /** Resolves with QEMU's output when QEMU ended before it was asked to. */
  readonly ended: Promise<string>
}

const SAID_MAX_CHARACTERS = 2000

/**
 * The limit of open files; each connection of a guest takes one. With a higher limit, a guest could make the host poll more descriptors whenever one
 * is ready.
 */
const OPEN_FILES_MAX = 4096
/** The same number again for the service, which must connect to a QEMU whose guest has taken all the others. */
const OPEN_FILES_MORE = 4096

/** A command line that becomes QEMU by successive `exec`: the pid stays. */
const confinement = ({ uid, accelerator, fileMaxBytes, fileMostBytes, outlives }: Launch): DaemonOptions["argv"] => {
  const groups = accelerator === "kvm" ? [`--groups=${statSync("/dev/kvm").gid}`] : ["--clear-groups"]
  const limits = [
    "prlimit",
    ...["--core=0:0", `--fsize=${fileMaxBytes}:${fileMostBytes}`],
    ...[`--nofile=${OPEN_FILES_MAX}:${OPEN_FILES_MAX + OPEN_FILES_MORE}`, "--"]
  ] as const
  const bond = outlives ? [] : ["--pdeathsig=KILL"]
  if (uid === null) return [...limits, "setpriv", ...bond, "--no-new-privs", "--"]
  return [
    ...limits,
    ...["unshare", "--net", "--ipc", "--"],
    ...["setpriv", `--reuid=${uid}`, `--regid=${uid}`, ...groups, ...bond],
    ...["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"]
  ]
}

/** Only QEMU's own user may set its limits, because root may lack CAP_SYS_RESOURCE. */
const setLimit = (pid: number, uid: number | null, limit: string) => {
  const set = ["prlimit", `--pid=${pid}`, limit]
  const as = uid === null ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"]
  const [command, ...args] = [...as, ...set] as [string, ...Array<string>]
  return attempt("setting QEMU's limits", () => mustRun([command, ...args]))
}

/** QEMU raises its limit to the hard limit when it starts. */
const limitOpenFiles = (pid: number, uid: number | null, soft: number): Effect.Effect<void> =>
  Effect.ignore(setLimit(pid, uid, `--nofile=${soft}:${OPEN_FILES_MAX + OPEN_FILES_MORE}`))

/** Up to the `fileMostBytes` that it was launched with. */
export const limitFileSize = (pid: number, uid: number | null, bytes: number) => setLimit(pid, uid, `--fsize=${bytes}:`)

/** The maximum, where the number cannot be read. */
const openFiles = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return OPEN_FILES_MAX + OPEN_FILES_MORE
  }
}

/**
 * Lowers the limit as far as possible, but not below the number that QEMU has open: poll(2) refuses more descriptors than the limit, and a QEMU whose
 * every poll fails serves no request until its guest closes some.
 */
const bindOpenFiles = (pid: number, uid: number | null): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let soft = 0, open = openFiles(pid); soft < open; open = openFiles(pid)) {
      soft = Math.max(OPEN_FILES_MAX, open)
      // From here on it cannot open more than that; it may have just before.
      yield* limitOpenFiles(pid, uid, soft)
    }
  })

/**
 * Lets QEMU accept the connections that `connect` makes even when its guest has used up all descriptors. Afterwards QEMU keeps some in reserve that
 * only this function can release.
 */
export const withRoomToConnect = <A, E>(
  { pid }: ProcessIdentity,
  uid: number | null,
  connect: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.acquireUseRelease(
    limitOpenFiles(pid, uid, OPEN_FILES_MAX + OPEN_FILES_MORE),
    () => connect,
    () => bindOpenFiles(pid, uid)
  )

/** Sets the reserve for a QEMU that was just started, whose limit is still high. */
export const takeRoomToConnect = ({ pid }: ProcessIdentity, uid: number | null): Effect.Effect<void> =>
  limitOpenFiles(pid, uid, OPEN_FILES_MAX)

const SOCKETS = ["qmpSocket", "agentSocket", "bootSocket"] as const

export const launch = async (options: Launch): Promise<Launched> => {
  const pipe = options.life ? await makeLifePipe(`${options.folder}/${machineFiles.life}`) : null
  const sockets: Array<ListeningSocket> = []
  let image: number | null = null
  try {
    const inherits: Record<number, number> = pipe === null ? {} : { [Descriptor.life]: pipe.writeFd }
    if (options.hasImage) {
      image = openSync(`${options.folder}/${machineFiles.image}`, "r")
      inherits[Descriptor.image] = image
    }
    for (const name of SOCKETS) {
      const socket = await listeningSocket(`${options.folder}/${machineFiles[name]}`)
      sockets.push(socket)
      inherits[Descriptor[name]] = socket.fd
    }
    const argv = [...confinement(options), options.binary, ...options.arguments] as const
    const { joins, startsIn } = options.cgroups
    const qemu = await startDaemon({
      name: "QEMU",
      argv: insideCgroups(joins, argv),
      cgroup:
        startsIn === null
          ? null
          : { folder: startsIn, argvOutside: insideCgroups([...joins, `${startsIn}/cgroup.procs`], argv) },
      cwd: options.folder,
      env: HOST_ENVIRONMENT,
      inherits,
      // It ignores SIGPIPE, and writes nothing needed after its start.
      keepsErrors: true
    })
    const ended = qemu.ended.then(
      ({ status, errors }) => printable(errors, SAID_MAX_CHARACTERS) || `it ended with ${status}`
    )
    return { process: qemu.process, lifeFd: pipe?.readFd ?? null, ended }
  } catch (error) {
    if (pipe !== null) closeSync(pipe.readFd)
    throw error
  } finally {
    for (const socket of sockets) socket.release()
    if (image !== null) closeSync(image)
    if (pipe !== null) closeSync(pipe.writeFd)
  }
}
