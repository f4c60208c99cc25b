/** Why no Dockerfile can be built in a Sandbox of this host. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { Readable, Writable } from "node:stream"
import { text } from "node:stream/consumers"
import type { ImageObstacle } from "../image/HostImages.ts"
import { HOST_ENVIRONMENT } from "../linux/hostCommand.ts"
import { missingPackages } from "../linux/programs.ts"
import { builderNamespaces, mapUsers, trialUsers } from "./builderNamespaces.ts"
import { PROBE_UID } from "./probe.ts"
import { seccompProgram } from "./seccomp.ts"
import { programArguments } from "./systemFiles.ts"

const TRIAL_TIMEOUT_MS = 10_000
const TOLD = 9
const GATE = 8

/** Null when one can. For a host that runs images. @param boundsProcesses Whether a cgroup bounds the processes of a Sandbox. */
export const buildObstacle = async (boundsProcesses: boolean): Promise<ImageObstacle | null> => {
  const packages = missingPackages({ buildah: "buildah" })
  if (packages.length > 0)
    return {
      found: "No Dockerfile can be built.",
      mend: `apt-get install --no-install-recommends ${packages.join(" ")}`
    }
  if (seccompProgram(process.arch, true) === null)
    return { found: `System calls of builds cannot be filtered on ${process.arch}.`, mend: "Build on x86-64 or arm64." }
  // The limit of a user does not hold for root, nor for 65,536 users together.
  if (!boundsProcesses)
    return {
      found: "The processes of a build cannot be bounded.",
      mend: "Give Atoll a writable pids controller of cgroups."
    }
  const fault = await trial().catch((cause: unknown) => String(cause))
  return fault === null
    ? null
    : {
        found: `A build cannot have its own users here (${fault.split("\n")[0]!.slice(0, 200)}).`,
        mend: "In a container, run it without a user namespace, so that it has all user ids of the host."
      }
}

/** Makes the namespaces of a build once. Null when that works. */
const trial = async (): Promise<string | null> => {
  const bwrap = ["bwrap", "--userns2", String(TOLD), "--unshare-pid", "--unshare-net", ...programArguments()]
  const own = [...bwrap, "--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL", "--cap-add", "CAP_CHOWN"]
  const user = [`--reuid=${PROBE_UID}`, `--regid=${PROBE_UID}`, "--clear-groups", "--inh-caps=-all", "--"]
  const change = ["sh", "-c", "chown 1000:1000 /dev/shm"]
  const child = spawn("setpriv", [...user, ...builderNamespaces(TOLD, GATE), ...own, "--", ...change], {
    cwd: "/",
    env: HOST_ENVIRONMENT,
    stdio: ["ignore", "ignore", "pipe", ...Array(GATE - 3).fill("ignore"), "pipe", "pipe"],
    timeout: TRIAL_TIMEOUT_MS
  })
  const ended = once(child, "close")
  const errors = text(child.stderr as Readable)
  for (const it of [ended, errors]) it.catch(() => {})
  const pipes: ReadonlyArray<unknown> = child.stdio
  const [gate, told] = [pipes[GATE] as Writable, pipes[TOLD] as Readable]
  gate.on("error", () => {})
  const isThere = once(told, "data")
  isThere.catch(() => {})
  const first = await Promise.race([isThere.then(() => "there"), ended])
  if (first === "there") {
    await mapUsers(child.pid!, PROBE_UID, trialUsers).finally(() => gate.end("go\n"))
  }
  const [code] = await ended
  return code === 0 ? null : (await errors).trim() || `it ended with ${code}`
}
