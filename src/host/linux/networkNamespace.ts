/**
 * A network namespace whose only way out is slirp4netns. Routes and a packet filter decide what it can reach, and no process in it may change them.
 *
 * No packet passes before the routes exist: slirp4netns creates its device, then this module sets address and routes in one step. slirp4netns'
 * forwarder resolves names; it is the only address of 10.0.2.0/24 that is reachable. There is no route for IPv6.
 *
 * @source slirp4netns(1); lab.md: slirp4netns alone reaches the host and link-local addresses
 */
import { closeSync, fstatSync, openSync, statSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { missingCapabilities } from "./capabilities.ts"
import { enterCgroups } from "./cgroups.ts"
import { flowCommands, flowObstacle } from "./flowBound.ts"
import { FORBIDDEN_RANGES, hostAddresses } from "./forbiddenRanges.ts"
import { HOST_ENVIRONMENT, mustRun } from "./hostCommand.ts"
import { type ProcessIdentity, signal } from "./ProcessIdentity.ts"
import { filterCommands } from "./packetFilter.ts"
import { startDaemon } from "./startDaemon.ts"

/** The address of slirp4netns' DNS forwarder inside the namespace. */
export const NAMESERVER = "10.0.2.3"
const GATEWAY = "10.0.2.2"
const ADDRESS = "10.0.2.100"
const DEVICE = "tap0"
const MTU_BYTES = 65_520
const READY_TIMEOUT_MS = 10_000
const ENTER_TIMEOUT_MS = 10_000
const ENTER_POLL_MS = 2
/** Each connection and each source port of a Sandbox takes one descriptor. */
const OPEN_FILES_MAX = 8192
/** slirp4netns' own. */
const Descriptor = { life: 3, ready: 4 } as const

/** Lines for `ip -batch`. `own`: addresses of the host. The prohibit routes remain when slirp4netns dies. */
export const routeCommands = (own: ReadonlyArray<string>): string =>
  [
    "link set lo up",
    ...FORBIDDEN_RANGES.map((range) => `route replace prohibit ${range}`),
    ...new Set(own.map((address) => `route replace prohibit ${address}/32`)),
    // /32, so that there is no connected route: it would make the gateway's address reachable.
    `address add ${ADDRESS}/32 dev ${DEVICE}`,
    `link set ${DEVICE} mtu ${MTU_BYTES} up`,
    `route replace ${NAMESERVER}/32 dev ${DEVICE}`,
    `route replace default via ${GATEWAY} dev ${DEVICE} onlink`,
    ""
  ].join("\n")

export interface NetworkOptions {
  /** A process that is in the network namespace or will enter it. */
  readonly pid: number
  /** Without root: the process's own user namespace owns the network namespace and is entered first. */
  readonly throughUserNamespace: boolean
  /** Read end of a pipe: slirp4netns ends when the last writer is gone. The caller closes it. */
  readonly lifeFd: number
  /** The cgroup files that slirp4netns enters, so that the work a guest causes counts toward that guest's limits. */
  readonly cgroups?: ReadonlyArray<string>
  /** Extra variables for slirp4netns. */
  readonly environment?: Readonly<Record<string, string>>
  /** How long the process may take to enter its network namespace. */
  readonly enterTimeoutMs?: number
}

/**
 * Connects a network namespace, for the first time or after its slirp4netns died. Resolves with slirp4netns once packets flow and every route is set.
 * Rejects, and changes nothing, when the process stays in the service's namespace.
 */
export const connectNetwork = async (options: NetworkOptions): Promise<ProcessIdentity> => {
  const namespace = await ownNamespace(options.pid, options.enterTimeoutMs ?? ENTER_TIMEOUT_MS)
  try {
    const path = `/proc/${process.pid}/fd/${namespace}`
    const [slirpWay, way] = options.throughUserNamespace
      ? // Inside that user namespace, /proc of this process is not readable, so the target's pid is used.
        [[String(options.pid)], [`--target=${options.pid}`, "--user", "--net", "--preserve-credentials"]]
      : [["--netns-type=path", path], [`--net=${path}`]]
    const slirp = await startSlirp(slirpWay, options)
    try {
      // First: with the routes the device comes up.
      await Promise.all([
        mustRun(["nsenter", ...way, "tc", "-batch", "-"], filterCommands(DEVICE, NAMESERVER)),
        ...(flowObstacle() === null ? [mustRun(["nsenter", ...way, "nft", "--file", "-"], flowCommands(DEVICE))] : [])
      ])
      await mustRun(["nsenter", ...way, "ip", "-batch", "-"], routeCommands(hostAddresses()))
    } catch (cause) {
      signal(slirp, "SIGKILL")
      throw cause
    }
    return slirp
  } finally {
    closeSync(namespace)
  }
}

export interface ConnectedNetwork extends Pick<NetworkOptions, "pid" | "throughUserNamespace"> {
  /** The host addresses that this network may not reach; null when unknown. */
  closedTo: string | null
}

/** Whether the network may not reach any of these host addresses. */
export const isClosedTo = (network: ConnectedNetwork, addresses: ReadonlyArray<string>): boolean =>
  network.closedTo === addresses.toSorted().join()

/**
 * Blocks host addresses that were added since the network was connected. Rejects when that is not possible now.
 *
 * @param addresses Listing them takes longer than the rest: once for all networks.
 */
export const closeHostAddresses = async (
  network: ConnectedNetwork,
  addresses: ReadonlyArray<string> = hostAddresses()
): Promise<void> => {
  if (isClosedTo(network, addresses)) return
  const lines = addresses.map((address) => `route replace prohibit ${address}/32\n`).join("")
  // As in `connectNetwork`: never change the service's own namespace.
  const namespace = await ownNamespace(network.pid, 0)
  try {
    const way = network.throughUserNamespace
      ? [`--target=${network.pid}`, "--user", "--net", "--preserve-credentials"]
      : [`--net=/proc/${process.pid}/fd/${namespace}`]
    await mustRun(["nsenter", ...way, "ip", "-batch", "-"], lines)
  } finally {
    closeSync(namespace)
  }
  network.closedTo = addresses.toSorted().join()
}

/**
 * Opens the process's network namespace once it differs from the service's. Until then /proc/PID/ns/net refers to the service's namespace, and the
 * commands meant for a guest would change this host. The open descriptor cannot change its meaning.
 */
const ownNamespace = async (pid: number, timeoutMs: number): Promise<number> => {
  const ours = statSync("/proc/self/ns/net").ino
  const deadline = performance.now() + timeoutMs
  while (true) {
    const fd = openSync(`/proc/${pid}/ns/net`, "r")
    if (fstatSync(fd).ino !== ours) return fd
    closeSync(fd)
    if (performance.now() > deadline) throw new Error("the process stayed in the service's network namespace")
    await sleep(ENTER_POLL_MS)
  }
}

/**
 * slirp4netns with --enable-sandbox unmounts everything. Where a mount is shared (`ip netns` and container engines share those of named network
 * namespaces), the whole host would lose it. So slirp4netns gets its own mount namespace.
 */
const mountsOfItsOwn = (): ReadonlyArray<string> =>
  missingCapabilities(["SYS_ADMIN"]).length === 0 ? ["unshare", "--mount", "--propagation=slave", "--"] : []

const startSlirp = async (way: ReadonlyArray<string>, options: NetworkOptions): Promise<ProcessIdentity> => {
  const slirp = await startDaemon({
    name: "slirp4netns",
    argv: [
      ...(["prlimit", "--core=0", `--nofile=${OPEN_FILES_MAX}`, "--"] as const),
      ...[...mountsOfItsOwn(), "slirp4netns"],
      ...["--disable-host-loopback", "--enable-sandbox", "--enable-seccomp", `--mtu=${MTU_BYTES}`],
      ...[`--exit-fd=${Descriptor.life}`, `--ready-fd=${Descriptor.ready}`, ...way, DEVICE]
    ],
    cwd: "/",
    env: { ...HOST_ENVIRONMENT, ...options.environment },
    inherits: { [Descriptor.life]: options.lifeFd },
    readyBy: Descriptor.ready
  })
  // The kernel delays each move, and no start should wait for it.
  void enterCgroups(options.cgroups ?? [], slirp.process.pid)
  const late = setTimeout(() => signal(slirp.process, "SIGKILL"), READY_TIMEOUT_MS)
  try {
    await slirp.ready
  } catch {
    throw new Error(`slirp4netns was not ready: it ended with ${(await slirp.ended).status}`)
  } finally {
    clearTimeout(late)
  }
  return slirp.process
}
