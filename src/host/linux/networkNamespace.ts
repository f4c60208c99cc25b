/**
 * A network namespace whose only way out is slirp4netns, and whose routes and packet filter say what can be reached: nobody in it may change them.
 *
 * Packets cannot pass before the routes are there: slirp4netns makes its device, and address and routes are set by us, in one step. Names are
 * resolved by slirp4netns' forwarder, the only address below 10.0.2.0 that is let through. Without IPv6: there is no route for it at all.
 *
 * @source slirp4netns(1); lab.md: slirp4netns alone reaches the host and link-local addresses
 */
import { spawn } from "node:child_process"
import { closeSync, fstatSync, openSync, statSync } from "node:fs"
import type { Readable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { missingCapabilities } from "./capabilities.ts"
import { enterCgroups } from "./cgroups.ts"
import { flowCommands, flowObstacle } from "./flowBound.ts"
import { FORBIDDEN_RANGES, hostAddresses } from "./forbiddenRanges.ts"
import { HOST_ENVIRONMENT, mustRun } from "./hostCommand.ts"
import { identify, type ProcessIdentity, signal } from "./ProcessIdentity.ts"
import { filterCommands } from "./packetFilter.ts"

/** slirp4netns' own forwarder, as the namespace sees it. */
export const NAMESERVER = "10.0.2.3"
const GATEWAY = "10.0.2.2"
const ADDRESS = "10.0.2.100"
const DEVICE = "tap0"
const MTU_BYTES = 65_520
const READY_TIMEOUT_MS = 10_000
const ENTER_TIMEOUT_MS = 10_000
const ENTER_POLL_MS = 2
/** Each connection and each source port of a Sandbox takes one. */
const OPEN_FILES_MAX = 8192

/** Lines for `ip -batch`. `own`: addresses of the host. The routes that prohibit outlive a slirp4netns that died. */
export const routeCommands = (own: ReadonlyArray<string>): string =>
  [
    "link set lo up",
    ...FORBIDDEN_RANGES.map((range) => `route replace prohibit ${range}`),
    ...new Set(own.map((address) => `route replace prohibit ${address}/32`)),
    // No connected route: it would let the gateway's address through.
    `address add ${ADDRESS}/32 dev ${DEVICE}`,
    `link set ${DEVICE} mtu ${MTU_BYTES} up`,
    `route replace ${NAMESERVER}/32 dev ${DEVICE}`,
    `route replace default via ${GATEWAY} dev ${DEVICE} onlink`,
    ""
  ].join("\n")

export interface NetworkOptions {
  /** A process in the network namespace, or on its way there. */
  readonly pid: number
  /** Without root: the user namespace that owns the network namespace is that process's own, and is entered first. */
  readonly throughUserNamespace: boolean
  /** Read end of a pipe: when its last writer is gone, slirp4netns ends. The caller closes it. */
  readonly lifeFd: number
  /** Files of cgroups that slirp4netns enters: what a guest makes it do is the guest's to pay. */
  readonly cgroups?: ReadonlyArray<string>
  /** More of slirp4netns' environment. */
  readonly environment?: Readonly<Record<string, string>>
  /** How long the process may take to enter its network namespace. */
  readonly enterTimeoutMs?: number
}

/**
 * Connects a network namespace, for the first time or after its slirp4netns died. Resolves with slirp4netns when packets flow and every route is in
 * place. Rejects, and changes nothing, when the process stays in our namespace.
 */
export const connectNetwork = async (options: NetworkOptions): Promise<ProcessIdentity> => {
  const namespace = await ownNamespace(options.pid, options.enterTimeoutMs ?? ENTER_TIMEOUT_MS)
  try {
    const path = `/proc/${process.pid}/fd/${namespace}`
    const [slirpWay, way] = options.throughUserNamespace
      ? // Inside that user namespace this process cannot be looked into.
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
  /** Which addresses of the host it is kept from; null when that is not known. */
  closedTo: string | null
}

/** Keeps a network that is connected from addresses that the host has got since. Rejects when that cannot be done now. */
export const closeHostAddresses = async (network: ConnectedNetwork): Promise<void> => {
  const addresses = hostAddresses()
  const now = addresses.toSorted().join()
  if (network.closedTo === now) return
  const lines = addresses.map((address) => `route replace prohibit ${address}/32\n`).join("")
  // As for a new one, nothing is ever done in a namespace that is ours.
  const namespace = await ownNamespace(network.pid, 0)
  try {
    const way = network.throughUserNamespace
      ? [`--target=${network.pid}`, "--user", "--net", "--preserve-credentials"]
      : [`--net=/proc/${process.pid}/fd/${namespace}`]
    await mustRun(["nsenter", ...way, "ip", "-batch", "-"], lines)
  } finally {
    closeSync(namespace)
  }
  network.closedTo = now
}

/** Held open: until the process has left it, its name still leads to ours, and what is meant for a guest would be done to this host. */
const ownNamespace = async (pid: number, timeoutMs: number): Promise<number> => {
  const ours = statSync("/proc/self/ns/net").ino
  const deadline = performance.now() + timeoutMs
  while (true) {
    const fd = openSync(`/proc/${pid}/ns/net`, "r")
    if (fstatSync(fd).ino !== ours) return fd
    closeSync(fd)
    if (performance.now() > deadline) throw new Error("the process has no network namespace of its own")
    await sleep(ENTER_POLL_MS)
  }
}

/**
 * In its sandbox it lets go of everything that is mounted, and where a mount is shared, as `ip netns` and container engines make that of named network
 * namespaces, the whole host would lose it.
 */
const mountsOfItsOwn = (): ReadonlyArray<string> =>
  missingCapabilities(["SYS_ADMIN"]).length === 0 ? ["unshare", "--mount", "--propagation=slave", "--"] : []

const startSlirp = async (way: ReadonlyArray<string>, options: NetworkOptions): Promise<ProcessIdentity> => {
  const slirp = spawn(
    "prlimit",
    [
      ...["--core=0", `--nofile=${OPEN_FILES_MAX}`, "--", ...mountsOfItsOwn(), "slirp4netns"],
      ...["--disable-host-loopback", "--enable-sandbox", "--enable-seccomp", `--mtu=${MTU_BYTES}`],
      ...["--exit-fd=3", "--ready-fd=4", ...way, DEVICE]
    ],
    {
      cwd: "/",
      detached: true,
      env: { ...HOST_ENVIRONMENT, ...options.environment },
      stdio: ["ignore", "ignore", "ignore", options.lifeFd, "pipe"]
    }
  )
  slirp.unref()
  // The kernel takes its time for each; nobody's start waits for it.
  if (slirp.pid !== undefined) void enterCgroups(options.cgroups ?? [], slirp.pid)
  const ready = slirp.stdio[4] as Readable
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        slirp.kill("SIGKILL")
        reject(new Error("slirp4netns was not ready in time"))
      }, READY_TIMEOUT_MS)
      const settle = (act: () => void) => {
        clearTimeout(timer)
        act()
      }
      slirp.on("error", (cause) => settle(() => reject(cause)))
      slirp.on("exit", (code, by) => settle(() => reject(new Error(`slirp4netns ended with ${code ?? by}`))))
      ready.on("error", () => {})
      ready.once("data", () => settle(resolve))
    })
  } finally {
    ready.destroy()
  }
  const it = slirp.pid === undefined ? null : identify(slirp.pid)
  if (it === null) throw new Error("slirp4netns ended at once")
  return it
}
