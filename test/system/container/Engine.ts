/**
 * A container engine for the trial: the one that answers here, else a new one in a temporary folder, which needs root
 * and `dockerd` and leaves nothing behind.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync, readFileSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hostEnvironment, type RunOptions, run, soon, works } from "./run.ts"

export interface Engine {
  /** The engine is private: images may be made under others' names. */
  readonly isOwn: boolean
  readonly docker: (args: ReadonlyArray<string>, options?: RunOptions) => Promise<string>
  /** Version 2 is docker's plugin, version 1 a separate program. */
  readonly compose: (args: ReadonlyArray<string>, options?: RunOptions) => Promise<string>
  readonly close: () => Promise<void>
}

/** The reason why there is none: one sentence. */
export class NoEngine extends Error {}

const READY_WITHIN_MS = 60_000
const END_WITHIN_MS = 60_000
const REMOVE_TIMEOUT_MS = 300_000

/**
 * The host's network is not changed, because that would outlive the engine: its containers reach each other, and ports
 * are published.
 */
const QUIET = ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none"]

/** Tried in order: the engine's own choice, then one that needs nothing of the disk. */
const STORAGE: ReadonlyArray<ReadonlyArray<string>> = [[], ["--storage-driver=vfs"]]

export const findEngine = async (): Promise<Engine> => {
  if (!(await works("docker", ["--version"])))
    throw new NoEngine("There is no container engine here: apt-get install docker.io docker-compose mmdebstrap")
  if (await works("docker", ["version"])) return engine(hostEnvironment(), null)
  if (process.getuid?.() !== 0 || !(await works("dockerd", ["--version"])))
    throw new NoEngine(
      "No container engine answers here, and starting one takes root and dockerd: apt-get install docker.io docker-compose mmdebstrap"
    )
  return ownEngine()
}

const engine = async (env: NodeJS.ProcessEnv, daemon: Daemon | null): Promise<Engine> => {
  const close = async () => daemon?.end()
  const plugin = await works("docker", ["compose", "version"], { env })
  if (!plugin && !(await works("docker-compose", ["version"], { env }))) {
    await close()
    throw new NoEngine("There is no docker compose here: apt-get install docker-compose")
  }
  const [program, first] = plugin ? ["docker", ["compose"]] : ["docker-compose", []]
  return {
    isOwn: daemon !== null,
    docker: (args, options) => run("docker", args, { ...options, env: { ...env, ...options?.env } }),
    compose: (args, options) => run(program, [...first, ...args], { ...options, env: { ...env, ...options?.env } }),
    close
  }
}

interface Daemon {
  readonly end: () => Promise<void>
}

const ownEngine = async (): Promise<Engine> => {
  const said: Array<string> = []
  for (const storage of STORAGE) {
    const folder = await mkdtemp(join(tmpdir(), "atoll-engine-"))
    const log = join(folder, "log")
    const socket = `unix://${folder}/docker.sock`
    const out = openSync(log, "w")
    const places = ["--data-root", join(folder, "data"), "--exec-root", join(folder, "run"), "-H", socket]
    const child = spawn("dockerd", [...places, "--pidfile", join(folder, "pid"), ...QUIET, ...storage], {
      env: hostEnvironment(),
      stdio: ["ignore", out, out],
      // Ctrl-C goes to the trial, which ends the engine after it has taken everything down.
      detached: true
    })
    closeSync(out)
    const daemon = { end: () => endDaemon(child, folder) }
    const env = hostEnvironment({ DOCKER_HOST: socket })
    try {
      await soon(async () => {
        if (child.exitCode === null && child.signalCode === null) await run("docker", ["version"], { env })
      }, READY_WITHIN_MS)
      if (child.exitCode === null && child.signalCode === null) return await engine(env, daemon)
    } catch (fault) {
      await daemon.end()
      throw fault
    }
    said.push(lastLine(readFileSync(log, "utf8")))
    await daemon.end()
  }
  throw new NoEngine(`dockerd does not start here: ${said.join("; ")}`)
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1) ?? ""

const endDaemon = async (child: ChildProcess, folder: string): Promise<void> => {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    const late = setTimeout(() => child.kill("SIGKILL"), END_WITHIN_MS)
    await ended
    clearTimeout(late)
  }
  // It leaves its own folder mounted on itself, and the names of the network namespaces.
  const mounts = readFileSync("/proc/self/mounts", "latin1").split("\n")
  const left = mounts.map((line) => line.split(" ")[1] ?? "").filter((path) => path.startsWith(`${folder}/`))
  for (const path of left.toReversed()) await run("umount", ["--lazy", path])
  await run("rm", ["--recursive", "--force", "--one-file-system", folder], { timeoutMs: REMOVE_TIMEOUT_MS })
}
