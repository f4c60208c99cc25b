/**
 * Tests what this host can do: runs bubblewrap once exactly as for a Sandbox.
 *
 * `packages` are the Debian packages that a host needs; slirp4netns, iproute2, util-linux-extra and nftables only for Sandboxes with network, and without
 * nftables their connections are not counted; xfsprogs only for the volume pool; squashfs-tools
 * only for Sandboxes from images; buildah only for builds of Dockerfiles.
 */
import { spawn } from "node:child_process"
import { accessSync, closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { missingCapabilities } from "../linux/capabilities.ts"
import { type CgroupHost, detectCgroups, NO_CGROUPS } from "../linux/cgroups.ts"
import { flowStatement } from "../linux/flowBound.ts"
import { HOST_ENVIRONMENT } from "../linux/hostCommand.ts"
import { missingPackages } from "../linux/programs.ts"
import { seccompProgram } from "./seccomp.ts"
import { programArguments } from "./systemFiles.ts"

export const packages = [
  "bubblewrap",
  "util-linux",
  "mount",
  "e2fsprogs",
  "xfsprogs",
  "slirp4netns",
  "iproute2",
  "nftables",
  "squashfs-tools",
  "buildah"
] as const

export type Probe =
  | { readonly ok: true; readonly statements: ReadonlyArray<string> }
  | { readonly ok: false; readonly reason: string }

/** The probe's user id: below the range of Sandboxes, so that no Sandbox gets it. */
export const PROBE_UID = 1_999_999
const PROBE_TIMEOUT_MS = 10_000

const WITH_NETWORK = {
  slirp4netns: "slirp4netns",
  ip: "iproute2",
  tc: "iproute2",
  nsenter: "util-linux",
  unshare: "util-linux"
}
const TUNNEL_DEVICE = "/dev/net/tun"
const AS_ROOT = { setpriv: "util-linux", "mkfs.ext4": "e2fsprogs", mount: "mount" }

const isRoot = (): boolean => process.getuid?.() === 0

/** Null when Sandboxes can have a network; otherwise one sentence. */
export const networkObstacle = (): string | null => {
  const absent = missingPackages(WITH_NETWORK)
  if (absent.length > 0) return `missing on this host: apt-get install ${absent.join(" ")}`
  if (isRoot() && missingCapabilities(["NET_ADMIN"]).length > 0)
    return "this container's root lacks NET_ADMIN, see deploy/compose.unprivileged.yml"
  return isUsable(TUNNEL_DEVICE)
    ? null
    : `${TUNNEL_DEVICE} is missing or closed: modprobe tun, or pass the device into this container`
}

const isUsable = (device: string): boolean => {
  try {
    accessSync(device, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Whether this host can run Sandboxes in namespaces. Takes a few milliseconds and leaves nothing behind. */
export const probe: Effect.Effect<Probe> = Effect.promise(async (): Promise<Probe> => {
  if (process.platform !== "linux") {
    return {
      ok: false,
      reason: `Namespaces are Linux's, and this is ${process.platform}; use a Linux host or virtual machine.`
    }
  }
  const absent = missingPackages({ bwrap: "bubblewrap", ...(isRoot() ? AS_ROOT : {}) })
  if (absent.length > 0) {
    return { ok: false, reason: `Programs are missing on this host: apt-get install ${absent.join(" ")}.` }
  }
  // Needed to enter another user's namespaces and to mount there.
  const lacked = isRoot() ? missingCapabilities(["SYS_ADMIN", "SYS_PTRACE"]) : []
  if (lacked.length > 0) {
    return {
      ok: false,
      reason: `This container's root lacks ${lacked.join(" and ")}: deploy/compose.unprivileged.yml has all that Sandboxes take.`
    }
  }
  const stderr = await tryBubblewrap()
  if (stderr !== null) return { ok: false, reason: explain(stderr) }
  const cgroups = isRoot() ? detectCgroups("atoll", false) : NO_CGROUPS
  return { ok: true, statements: statementsOf(cgroups, isRoot()) }
})

/** Null when it worked; otherwise bwrap's output. */
const tryBubblewrap = (): Promise<string | null> => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-probe-"))
  const filter = seccompProgram(process.arch)
  const file = join(folder, "seccomp")
  writeFileSync(file, filter ?? "")
  const fd = openSync(file, "r")
  rmSync(folder, { recursive: true })
  const bwrap = [
    "bwrap",
    "--unshare-all",
    ...["--uid", "1000", "--gid", "1000"],
    // Not "/": bubblewrap fails when a mount below what it binds goes away meanwhile, as those of other processes' Sandboxes do.
    ...programArguments(),
    ...["--proc", "/proc", "--dev", "/dev", "--cap-drop", "ALL"],
    ...(filter === null ? [] : ["--seccomp", "3"]),
    ...["--", "/bin/true"]
  ]
  const argv = isRoot()
    ? ["setpriv", `--reuid=${PROBE_UID}`, `--regid=${PROBE_UID}`, "--clear-groups", ...bwrap]
    : bwrap
  return new Promise((resolve) => {
    const child = spawn(argv[0]!, argv.slice(1), {
      cwd: "/",
      env: HOST_ENVIRONMENT,
      stdio: ["ignore", "ignore", "pipe", fd],
      timeout: PROBE_TIMEOUT_MS
    })
    closeSync(fd)
    let stderr = ""
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      stderr += text
    })
    child.on("error", (cause) => resolve(cause.message))
    child.on("close", (code) => resolve(code === 0 ? null : stderr.trim() || `bwrap ended with ${code}`))
  })
}

const explain = (stderr: string): string => {
  const said = stderr.split("\n")[0]!.slice(0, 300)
  if (/No space left on device/.test(stderr)) {
    return `The kernel allows no more user namespaces: sysctl -w user.max_user_namespaces=65536 (bwrap said: ${said}).`
  }
  if (/Can't mount proc/.test(stderr)) {
    return `This container hides parts of /proc, so that no Sandbox can mount its own: run it with --privileged or --security-opt systempaths=unconfined (bwrap said: ${said}).`
  }
  if (/No permissions to creat|Operation not permitted|setting up uid map|Permission denied/i.test(stderr)) {
    return `Unprivileged user namespaces are switched off: sysctl -w kernel.unprivileged_userns_clone=1 (Debian) or kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container, allow unshare and mount (bwrap said: ${said}).`
  }
  return `bubblewrap does not work on this host: ${said}.`
}

/** One sentence for each property that holds or does not hold on this host. */
export const statementsOf = (cgroups: CgroupHost, volumesEnforced: boolean): ReadonlyArray<string> => {
  const { memory, pids, cpu } = cgroups.enforced
  const limits = { memory, processes: pids, CPU: cpu }
  const named = (wanted: boolean) =>
    Object.entries(limits)
      .filter(([, holds]) => holds === wanted)
      .map(([name]) => name)
  const enforced = named(true)
  const loose = named(false)
  const root = isRoot()
  const obstacle = networkObstacle()
  return [
    root
      ? "Every Sandbox runs as its own user, in its own user, process, network, mount, IPC and host-name namespaces, without capabilities."
      : "Sandboxes run in their own namespaces without capabilities, but all as the service's own user: run the service as root to give each its own.",
    seccompProgram(process.arch) === null
      ? `System calls are not filtered on ${process.arch}.`
      : "System calls are filtered: no new namespaces, mounts, tracing, keyrings, io_uring, bpf or unusual sockets.",
    volumesEnforced
      ? "A volume's size is enforced: it is an ext4 image."
      : root
        ? "A volume's size is not enforced: this host mounts no images (no loop device?), so it is a plain folder."
        : "A volume's size is not enforced: without root it is a plain folder.",
    ...(enforced.length > 0 ? [`Limits of ${enforced.join(", ")} are enforced by cgroups.`] : []),
    ...(loose.length > 0
      ? [
          `Limits of ${loose.join(", ")} are not enforced: no writable cgroup controller on this host${root ? "" : " without root"}.`
        ]
      : []),
    cgroups.v2 === null
      ? "Process trees are separated by a mark that a process could remove on purpose: there is no writable cgroup v2."
      : "Process trees are separated by cgroups: a command is ended with everything that it started.",
    obstacle === null
      ? "Sandboxes with network reach the internet but not this host, private ranges, link-local or metadata addresses; IPv6 is off."
      : `Sandboxes cannot have network: ${obstacle}.`,
    ...(obstacle === null ? [flowStatement()] : []),
    "The kernel is shared with the host: use the qemu runtime where a virtual machine's wall is wanted."
  ]
}
