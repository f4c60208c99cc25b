/**
 * Starts QEMU as its own process group, with nothing it does not need: an unprivileged user of its own when we are root, no capabilities,
 * no network but an empty namespace, no inherited descriptors, a minimal environment. A Sandbox's outlives this service.
 */
import { spawn } from "node:child_process"
import { closeSync, openSync, readdirSync, statSync } from "node:fs"
import { Effect } from "effect"
import { attempt } from "../linux/attempt.ts"
import { HOST_ENVIRONMENT, mustRun } from "../linux/hostCommand.ts"
import { inheritedDescriptors } from "../linux/inheritedDescriptors.ts"
import { makeLifePipe } from "../linux/lifePipe.ts"
import { type ListeningSocket, listeningSocket } from "../linux/listeningSocket.ts"
import { identify, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { printable } from "../linux/printable.ts"
import { type Accelerator, Descriptor, machineFiles } from "./machineArguments.ts"

export interface Launch {
  readonly binary: string
  readonly arguments: ReadonlyArray<string>
  /** QEMU's working folder; relative names in its arguments are below it. */
  readonly folder: string
  /** Null: our own user (we are not root). */
  readonly uid: number | null
  readonly accelerator: Accelerator
  /** No file that it writes grows past this. */
  readonly fileMaxBytes: number
  /** Keeps the write end of a pipe open for as long as QEMU lives. */
  readonly life: boolean
  /** False: the kernel kills it with this process, however that ends. */
  readonly outlives: boolean
}

export interface Launched {
  readonly process: ProcessIdentity
  /** Read end of the life pipe; the caller closes it. */
  readonly lifeFd: number | null
  /** QEMU ended before it was asked to; what it said. */
  readonly ended: Promise<string>
  readonly hasEnded: () => boolean
}

const SAID_MAX_CHARACTERS = 2000

/** Of which a guest's connections take one each. With more a guest would have the host look through more of them whenever one is ready. */
const OPEN_FILES_MAX = 4096
/** As many again for whoever connects to a QEMU whose guest has taken all the others. */
const OPEN_FILES_MORE = 4096

/** A command line that becomes QEMU by successive `exec`: the pid stays. */
const confinement = ({ uid, accelerator, fileMaxBytes, outlives }: Launch): ReadonlyArray<string> => {
  const groups = accelerator === "kvm" ? [`--groups=${statSync("/dev/kvm").gid}`] : ["--clear-groups"]
  const limits = [
    ...["prlimit", "--core=0:0", `--fsize=${fileMaxBytes}:${fileMaxBytes}`],
    ...[`--nofile=${OPEN_FILES_MAX}:${OPEN_FILES_MAX + OPEN_FILES_MORE}`, "--"]
  ]
  const bond = outlives ? [] : ["--pdeathsig=KILL"]
  if (uid === null) return [...limits, "setpriv", ...bond, "--no-new-privs", "--"]
  return [
    ...limits,
    ...["unshare", "--net", "--ipc", "--"],
    ...["setpriv", `--reuid=${uid}`, `--regid=${uid}`, ...groups, ...bond],
    ...["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"]
  ]
}

/** QEMU itself goes up to its hard limit when it starts, and may be set by its own user only: not every root has CAP_SYS_RESOURCE. */
const limitOpenFiles = (pid: number, uid: number | null, soft: number): Effect.Effect<void> => {
  const set = ["prlimit", `--pid=${pid}`, `--nofile=${soft}:${OPEN_FILES_MAX + OPEN_FILES_MORE}`]
  const as = uid === null ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"]
  const [command, ...args] = [...as, ...set] as [string, ...Array<string>]
  return Effect.ignore(attempt("setting QEMU's limits", () => mustRun([command, ...args])))
}

/** All that it may ever have, where it cannot be told. */
const openFiles = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return OPEN_FILES_MAX + OPEN_FILES_MORE
  }
}

/**
 * As low as it goes, and never below what QEMU has open: poll(2) refuses more descriptors than the limit, and a QEMU whose every poll fails serves
 * nobody until its guest has let go of some.
 */
const bindOpenFiles = (pid: number, uid: number | null): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let soft = 0, open = openFiles(pid); soft < open; open = openFiles(pid)) {
      soft = Math.max(OPEN_FILES_MAX, open)
      // From here on it opens no more than that; it may have just before.
      yield* limitOpenFiles(pid, uid, soft)
    }
  })

/**
 * QEMU can take the connections that `connect` makes also when its guest has used up every descriptor that it may have. From then on it has some left
 * that only this can give it.
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

/** The same for a QEMU that has just been started, whose limit is high yet. */
export const takeRoomToConnect = ({ pid }: ProcessIdentity, uid: number | null): Effect.Effect<void> =>
  limitOpenFiles(pid, uid, OPEN_FILES_MAX)

const SOCKETS = ["qmpSocket", "agentSocket", "bootSocket"] as const

export const launch = async (options: Launch): Promise<Launched> => {
  const pipe = options.life ? await makeLifePipe(`${options.folder}/${machineFiles.life}`) : null
  const sockets: Array<ListeningSocket> = []
  const nothing = openSync("/dev/null", "r+")
  try {
    const stdio: Array<number | "ignore" | "pipe"> = ["ignore", "ignore", "pipe"]
    stdio[Descriptor.life] = pipe === null ? nothing : pipe.writeFd
    for (const name of SOCKETS) {
      const socket = await listeningSocket(`${options.folder}/${machineFiles[name]}`)
      sockets.push(socket)
      stdio[Descriptor[name]] = socket.fd
    }
    // A child cannot be told to close what this process was itself started with.
    for (const fd of inheritedDescriptors) stdio[fd] ??= nothing
    for (let fd = 0; fd < stdio.length; fd++) stdio[fd] ??= "ignore"
    const [command, ...args] = [...confinement(options), options.binary, ...options.arguments] as [
      string,
      ...Array<string>
    ]
    const child = spawn(command, args, {
      cwd: options.folder,
      detached: true,
      env: HOST_ENVIRONMENT,
      stdio
    })
    let said = ""
    let over = false
    child.stderr?.on("data", (bytes: Buffer) => {
      said = (said + bytes.toString("utf8")).slice(-SAID_MAX_CHARACTERS)
    })
    const ended = new Promise<string>((resolve) => {
      const end = (why: string) => {
        over = true
        resolve(printable(said, SAID_MAX_CHARACTERS) || why)
      }
      child.on("error", (error) => end(error.message))
      child.on("exit", (code, signal) => end(`it ended with ${signal ?? code}`))
    })
    child.unref()
    // A pipe keeps this process alive and is gone with it; QEMU says nothing after its start that we would need.
    if (child.stderr !== null && "unref" in child.stderr) (child.stderr as unknown as { unref(): void }).unref()
    const identity = child.pid === undefined ? null : identify(child.pid)
    if (identity === null) throw new Error(`${command} did not start: ${said}`)
    return { process: identity, lifeFd: pipe?.readFd ?? null, ended, hasEnded: () => over }
  } catch (error) {
    if (pipe !== null) closeSync(pipe.readFd)
    throw error
  } finally {
    for (const socket of sockets) socket.release()
    closeSync(nothing)
    if (pipe !== null) closeSync(pipe.writeFd)
  }
}
