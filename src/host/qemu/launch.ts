/**
 * Starts QEMU as its own process group, with nothing it does not need: an unprivileged user of its own when we are root, no capabilities,
 * no network but an empty namespace, no inherited descriptors, a minimal environment. It outlives this service.
 */
import { spawn } from "node:child_process"
import { closeSync, statSync } from "node:fs"
import { HOST_ENVIRONMENT } from "../linux/hostCommand.ts"
import { makeLifePipe } from "../linux/lifePipe.ts"
import { identify, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import type { Accelerator } from "./machineArguments.ts"

export interface Launch {
  readonly binary: string
  readonly arguments: ReadonlyArray<string>
  /** QEMU's working folder; relative names in its arguments are below it. */
  readonly folder: string
  /** Null: our own user (we are not root). */
  readonly uid: number | null
  readonly accelerator: Accelerator
  /** Keeps the write end of a pipe open for as long as QEMU lives. */
  readonly life: boolean
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

/** A command line that becomes QEMU by successive `exec`: the pid stays. */
const confinement = (uid: number | null, accelerator: Accelerator): ReadonlyArray<string> => {
  const groups = accelerator === "kvm" ? [`--groups=${statSync("/dev/kvm").gid}`] : ["--clear-groups"]
  const limits = ["prlimit", "--core=0:0", "--"]
  if (uid === null) return [...limits, "setpriv", "--no-new-privs", "--"]
  return [
    ...limits,
    ...["unshare", "--net", "--ipc", "--"],
    ...["setpriv", `--reuid=${uid}`, `--regid=${uid}`, ...groups],
    ...["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"]
  ]
}

/** Descriptor of QEMU: the write end of its life pipe. */
export const LIFE_FD = 3

export const launch = async (options: Launch): Promise<Launched> => {
  const pipe = options.life ? await makeLifePipe(`${options.folder}/life`) : null
  try {
    const [command, ...args] = [
      ...confinement(options.uid, options.accelerator),
      options.binary,
      ...options.arguments
    ] as [string, ...Array<string>]
    const child = spawn(command, args, {
      cwd: options.folder,
      detached: true,
      env: HOST_ENVIRONMENT,
      stdio: ["ignore", "ignore", "pipe", ...(pipe === null ? [] : [pipe.writeFd])]
    })
    let said = ""
    let over = false
    child.stderr?.on("data", (bytes: Buffer) => {
      said = (said + bytes.toString("utf8")).slice(-SAID_MAX_CHARACTERS)
    })
    const ended = new Promise<string>((resolve) => {
      const end = (why: string) => {
        over = true
        resolve(said.trim() || why)
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
    if (pipe !== null) closeSync(pipe.writeFd)
  }
}
